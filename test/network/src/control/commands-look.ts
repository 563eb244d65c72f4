import type { Network } from '../network.js';
import type { Fate, Received } from '../people/inbox.js';
import type { ReceiptSeen, TypingSeen, World } from '../world.js';
import type { StanzaFilter } from '../record/record.js';
import type { LoginAttempt, LoginFilter } from '../faults/logins.js';
import type { WebClientRequest } from '../web-client.js';
import { textOfMessage } from '../people/contents.js';
import { viewEntry, viewReceived, type EntryView, type ReceivedView } from './views.js';

export interface ReceivedFilter {
  to?: string;
  from?: string;
  id?: string;
  text?: string;
  group?: string;
  fate?: Fate;
  device?: number;
  /** Only entries after this position. */
  after?: number;
  /** Includes copies for other devices of the sender's account. */
  copies?: boolean;
}

export interface ReceiptFilter {
  from?: string;
  to?: string;
  id?: string;
  type?: string;
  after?: number;
}

export interface Waiting {
  limitMs?: number;
}

const agrees = <T>(wanted: T | undefined, value: T | undefined): boolean =>
  wanted === undefined || wanted === value;

const COMPARED = ['to', 'from', 'id', 'group', 'fate', 'device'] as const;

/** Decodes the text last: waits look at thousands of entries again with each new one. */
function fitsReceived(filter: ReceivedFilter, entry: Received): boolean {
  return (
    (filter.after === undefined || entry.seq > filter.after) &&
    COMPARED.every((name) => agrees<unknown>(filter[name], entry[name])) &&
    (filter.copies === true || entry.from !== entry.to) &&
    // A person does not see the sender key of a group.
    (!entry.message?.senderKeyDistributionMessage || entry.encryption === 'skmsg') &&
    (filter.text === undefined || textOfMessage(entry.message) === filter.text)
  );
}

function fitsReceipt(filter: ReceiptFilter, receipt: ReceiptSeen): boolean {
  return (
    agrees(filter.from, receipt.from) &&
    agrees(filter.to, receipt.to) &&
    agrees(filter.type, receipt.type) &&
    (filter.id === undefined || receipt.ids.includes(filter.id)) &&
    (filter.after === undefined || receipt.seq > filter.after)
  );
}

const findReceived = (world: World, filter: ReceivedFilter) =>
  world.inbox.find((entry) => fitsReceived(filter, entry));

export const lookCommands = {
  status: ({ world, url }: Network) => ({
    url,
    root: Buffer.from(world.certificates.root.public).toString('hex'),
    /** Open connections in any state. */
    connections: world.connections.size,
    /** Devices that have logged in and were not disconnected since. */
    loggedIn: world.loggedIn().length,
    logins: world.logins.counts(),
    unhandled: world.unhandled,
    violations: world.violations,
    counts: world.record.counts(),
    fates: world.inbox.fates,
  }),

  /** Logins and registrations with the versions that clients announced, in order of arrival. */
  logins: ({ world }: Network, filter: LoginFilter): LoginAttempt[] => world.logins.attempts(filter),

  waitLogin: ({ world }: Network, { limitMs, ...filter }: LoginFilter & Waiting): Promise<LoginAttempt> => {
    const look = () => world.logins.attempts(filter)[0];
    return world.until(look, `a login ${JSON.stringify(filter)}`, limitMs);
  },

  received: ({ world }: Network, filter: ReceivedFilter): ReceivedView[] =>
    findReceived(world, filter).map(viewReceived),

  waitReceived: async (
    { world }: Network,
    { limitMs, ...filter }: ReceivedFilter & Waiting,
  ): Promise<ReceivedView> => {
    const look = () => findReceived(world, filter)[0];
    const what = `a message ${JSON.stringify(filter)}`;
    return viewReceived(await world.until(look, what, limitMs));
  },

  receipts: ({ world }: Network, filter: ReceiptFilter): ReceiptSeen[] =>
    world.receipts.filter((receipt) => fitsReceipt(filter, receipt)),

  waitReceipt: (
    { world }: Network,
    { limitMs, ...filter }: ReceiptFilter & Waiting,
  ): Promise<ReceiptSeen> => {
    const look = () => world.receipts.find((receipt) => fitsReceipt(filter, receipt));
    return world.until(look, `a receipt ${JSON.stringify(filter)}`, limitMs);
  },

  /** Requests for the web client's service worker script. */
  webClientRequests: ({ webClient }: Network): WebClientRequest[] => webClient.requests,

  /** Typing states that contacts and groups have seen. */
  typings: ({ world }: Network): TypingSeen[] => world.typings,

  stanzas: ({ world }: Network, filter: StanzaFilter): EntryView[] =>
    world.record.find(filter).map(viewEntry),

  waitStanza: async (
    { world }: Network,
    { limitMs, ...filter }: StanzaFilter & Waiting,
  ): Promise<EntryView> => {
    const look = () => world.record.find(filter)[0];
    return viewEntry(await world.until(look, `a stanza ${JSON.stringify(filter)}`, limitMs));
  },

  /** Waits until a linked device of the phone number receives mail. */
  waitActive: async ({ world }: Network, { number, limitMs }: { number: string } & Waiting) => {
    const look = () =>
      [...(world.people.get(number)?.companions.values() ?? [])].find(({ active }) => active)?.id;
    return { device: await world.until(look, `${number} to be connected`, limitMs) };
  },

  /** Waits until the phone number has this many linked devices. */
  waitDevices: async (
    { world }: Network,
    { number, count, limitMs }: { number: string; count: number } & Waiting,
  ) => {
    const look = () => world.people.need(number).companions.size === count || undefined;
    await world.until(look, `${number} to have ${count} linked devices`, limitMs);
    return {};
  },

  /** Waits until the linked devices of the phone number have confirmed all their mail. */
  waitTaken: async ({ world }: Network, { number, limitMs }: { number: string } & Waiting) => {
    const look = () =>
      [...world.people.need(number).companions.values()].every(({ mail }) => mail.length === 0) || undefined;
    await world.until(look, `${number} to take its mail`, limitMs);
    return {};
  },
};
