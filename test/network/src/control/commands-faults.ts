import type { Rule } from '../faults/faults.js';
import type { LoginLimit } from '../faults/logins.js';
import type { LoginKind, OldestVersion } from '../faults/versions.js';
import type { Network } from '../network.js';
import { holdMail, releaseMail } from '../post/mail.js';
import { ban, temporaryBan } from '../session/login.js';
import { liftRestriction, restrict } from '../session/restriction.js';
import { streamError } from '../session/stream-errors.js';
import type { LineFaults } from '../transport/line.js';
import type { WebClientAnswer } from '../web-client.js';
import { listCompanions } from './commands-people.js';

const BAN = 406;

export type OldestVersionOptions = Partial<OldestVersion> & { at?: LoginKind };

export const faultCommands = {
  /** Sets latency, loss or a frozen line for one phone number or all (`*`). Without faults the line is good again. */
  line: ({ world }: Network, { number, ...faults }: { number: string } & Partial<LineFaults>) => {
    world.faults.setLine(number, Object.keys(faults).length === 0 ? undefined : faults);
    return {};
  },

  /** Holds mail for a phone number, or releases it all at once. */
  mail: ({ world }: Network, { number, held }: { number: string; held: boolean }) => {
    (held ? holdMail : releaseMail)(world.people.need(number));
    return {};
  },

  rule: ({ world }: Network, rule: Rule) => {
    world.faults.addRule(rule);
    return {};
  },

  clearRules: ({ world }: Network) => {
    world.faults.clearRules();
    return {};
  },

  /** A temporary ban with minutes, a permanent one without; with a reason, any other refusal. */
  ban: (
    { world }: Network,
    { number, minutes, reason, code }: { number: string; minutes?: number; reason?: number; code?: number },
  ) => {
    const refusal = minutes === undefined ? { reason: BAN } : temporaryBan(minutes, code);
    ban(world, world.people.need(number), { ...refusal, ...(reason !== undefined && { reason }) });
    return {};
  },

  /** Resets the counters of logins. With a limit, the network bans a phone number that logs in more often. */
  limitLogins: ({ world }: Network, { limit }: { limit?: LoginLimit }) => {
    world.logins.resetCounts(limit);
    return {};
  },

  lift: ({ world }: Network, { number }: { number: string }) => {
    world.faults.refuse(number, undefined);
    liftRestriction(world, world.people.need(number));
    return {};
  },

  /** Restricts a phone number: it may not write to people who have not written to it (463). */
  restrict: ({ world }: Network, { number, minutes }: { number: string; minutes: number }) => {
    restrict(world, world.people.need(number), minutes);
    return {};
  },

  /** Ends the connections of a phone number with a code: 503, 515, 500 and so on. */
  streamError: (network: Network, { number, code }: { number: string; code: number }) => {
    const open = listCompanions(network, number).flatMap(({ connection }) => connection ?? []);
    for (const connection of open) streamError(connection, { code: String(code) });
    return { ended: open.length };
  },

  /** Cuts the connections of a phone number, or of all (`*`), without a close. */
  cut: (network: Network, { number, device }: { number: string; device?: number }) => {
    const named = number === '*' ? network.world.loggedIn() : listCompanions(network, number, device);
    const open = named.flatMap(({ connection }) => connection ?? []);
    for (const connection of open) connection.cut();
    return { ended: open.length };
  },

  /** Sets the answer to requests for the web client's service worker script. */
  serveWebClient: ({ webClient }: Network, answer: WebClientAnswer) => {
    webClient.answer = answer;
    return {};
  },

  /** Makes the network unreachable. `cut` also ends the open connections. */
  outage: ({ world }: Network, { on, cut }: { on: boolean; cut?: boolean }) => {
    world.faults.outage = on;
    if (on && cut) for (const connection of world.connections) connection.cut();
    return {};
  },

  /**
   * Refuses older clients from now on, at linking, at login or both. Open connections stay open. Without a version,
   * accepts all.
   */
  oldestVersion: ({ world }: Network, { at, version, ...limits }: OldestVersionOptions) => {
    const kinds = at === undefined ? (['linking', 'login'] as const) : [at];
    world.faults.versions.require(kinds, version && { version, ...limits });
    return {};
  },
};
