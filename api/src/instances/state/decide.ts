import type { StateChange } from '@gwk/core/protocol/engine';
import { isSameAccount } from '@gwk/core/ids/recipients';
import type { InstanceState } from '@gwk/core/states';
import type { Instance } from '../../generated/prisma/client.js';
import { instanceEvent, type EventDraft, type InstanceSubject } from '../../events/emit.js';

/**
 * Decides the effects of a state change: the row, the intervals of availability, the offline time, and the events. Pure.
 */
export const STATE_FIELDS = [
  'stateReason',
  'stateChangedAt',
  'offlineMs',
  'jid',
  'lid',
  'businessName',
  'lastJid',
  'lastLid',
  'otherAccountAt',
  'firstPairedAt',
  'firstConnectedAt',
  'bannedUntil',
  'restrictedUntil',
  'reconnectCount',
  'reconnectAt',
] as const satisfies (keyof Instance)[];

export type InstanceStateRow = Pick<Instance, (typeof STATE_FIELDS)[number]> & { state: InstanceState };

/** A change as an engine reports it, or a decision of the gateway. */
export type StateUpdate = Omit<StateChange, 'at'> & { at: Date };

interface StateOutcome {
  row: InstanceStateRow;
  /** New intervals in order; each ends the previous one. */
  intervals: { state: InstanceState; reason: string | null; since: Date }[];
  events: EventDraft[];
  /** Whether a public field changed. */
  visible: boolean;
  /** Whether another account was linked. Then nothing of the former one counts (former-account.ts). */
  isOther: boolean;
}

export function decideStates(
  subject: InstanceSubject,
  before: InstanceStateRow,
  news: readonly StateUpdate[],
  now: Date,
): StateOutcome {
  const outcome: StateOutcome = {
    row: { ...before },
    intervals: [],
    events: [],
    visible: false,
    isOther: false,
  };
  for (const item of news) {
    const isNew = item.state !== outcome.row.state || isOtherAccount(outcome.row, item.paired);
    if (!isNew) noteDetails(outcome, item);
    else enterState(subject, outcome, item, now);
  }
  return outcome;
}

/** A repeated report of the current state, for example after a lost answer: no event, no interval. */
function noteDetails(outcome: StateOutcome, item: StateUpdate): void {
  const { row } = outcome;
  const { jid, lid, businessName } = row;
  setDetails(row, item);
  outcome.visible ||= row.jid !== jid || row.lid !== lid || row.businessName !== businessName;
}

function enterState(subject: InstanceSubject, outcome: StateOutcome, item: StateUpdate, now: Date): void {
  const { row } = outcome;
  const at = timeOf(row, item.at, now);
  if (row.state !== 'connected') row.offlineMs += BigInt(at.getTime() - row.stateChangedAt.getTime());
  Object.assign(row, { state: item.state, stateReason: item.reason, stateChangedAt: at, bannedUntil: null });
  if (item.state === 'pending_pair' || item.state === 'logged_out') {
    Object.assign(row, { jid: null, lid: null, businessName: null });
  }
  if (item.paired) notePairing(subject, outcome, item.paired, { at, now });
  setDetails(row, item);
  if (item.state === 'connected') {
    row.firstConnectedAt ??= at;
    Object.assign(row, { reconnectCount: 0, reconnectAt: null });
  }
  outcome.intervals.push({ state: item.state, reason: item.reason, since: at });
  outcome.events.push(...eventOf(subject, row, item, at));
  outcome.visible = true;
}

type Paired = NonNullable<StateUpdate['paired']>;

const isOtherAccount = ({ lastJid, lastLid }: InstanceStateRow, paired: Paired | undefined): boolean =>
  paired !== undefined &&
  lastJid !== null &&
  !isSameAccount({ jid: lastJid, lid: lastLid }, { jid: paired.jid, lid: paired.lid ?? null });

function notePairing(
  subject: InstanceSubject,
  outcome: StateOutcome,
  paired: Paired,
  { at, now }: { at: Date; now: Date },
): void {
  const { row } = outcome;
  const { jid, business_name, platform } = paired;
  const { lastJid } = row;
  const isOther = isOtherAccount(row, paired);
  if (isOther) {
    outcome.isOther = true;
    // The clock of the database, because it orders the pairing between the messages of both accounts.
    Object.assign(row, { firstPairedAt: null, restrictedUntil: null, lastLid: null, otherAccountAt: now });
  }
  row.firstPairedAt ??= at;
  const data = { jid, business_name, platform, ...(isOther && { previous_jid: lastJid! }) };
  outcome.events.push(instanceEvent('instance.paired', subject, at, data));
}

function setDetails(row: InstanceStateRow, item: StateUpdate): void {
  if (item.paired) Object.assign(row, { jid: item.paired.jid, businessName: item.paired.business_name });
  if (item.jid !== undefined) row.jid = item.jid;
  const lid = item.lid ?? item.paired?.lid;
  if (lid !== undefined) row.lid = lid;
  row.lastJid = row.jid ?? row.lastJid;
  row.lastLid = row.lid ?? row.lastLid;
  if (item.business_name !== undefined) row.businessName = item.business_name;
  if (item.ban) row.bannedUntil = dateOf(item.ban.expires_at);
  if (item.reconnect) {
    const { count, at } = item.reconnect;
    Object.assign(row, { reconnectCount: count, reconnectAt: dateOf(at) });
  }
}

const dateOf = (time: string | null): Date | null => (time === null ? null : new Date(time));

function eventOf(subject: InstanceSubject, row: InstanceStateRow, item: StateUpdate, at: Date): EventDraft[] {
  const { reason } = item;
  switch (item.state) {
    case 'connected':
      return [instanceEvent('instance.connected', subject, at, { jid: row.jid })];
    case 'disconnected':
      return [instanceEvent('instance.disconnected', subject, at, { reason })];
    case 'logged_out':
      return [instanceEvent('instance.logged_out', subject, at, { reason })];
    case 'banned': {
      const expires_at = row.bannedUntil?.toISOString() ?? null;
      return [instanceEvent('instance.banned', subject, at, { code: item.ban?.code ?? null, expires_at })];
    }
    default:
      return [];
  }
}

/** Bounds the time of a change between the previous change and now, because the clocks of pods differ. */
function timeOf(row: InstanceStateRow, at: Date, now: Date): Date {
  return new Date(Math.max(row.stateChangedAt.getTime(), Math.min(at.getTime(), now.getTime())));
}
