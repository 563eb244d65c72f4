import { canAdvance, type FailureCode, type MessageStatus } from '@gwk/core/states';
import {
  messageFailed,
  messageSent,
  messageStatusUpdated,
  type EventDraft,
  type MessageSubject,
} from '../events/emit.js';

/** The stored state of an outbound message. */
export interface MessageFacts {
  subject: MessageSubject;
  version: number;
  createdAt: Date;
  scheduledFor: Date | null;
  status: MessageStatus;
  errorCode: string | null;
  errorMessage: string | null;
  renderedAs: string | null;
  played: boolean;
  sentAt: Date | null;
  deliveredAt: Date | null;
  readAt: Date | null;
  failedAt: Date | null;
  /** The caller's lease holds the claim. */
  claimedByCaller: boolean;
  /** Id of the current claim, of any lease. */
  claimId: string | null;
  /** A stanza may have been written to the network. */
  attempted: boolean;
}

/** One report about a message: by its engine, by a receipt, or by a job. */
export type StatusUpdate =
  | { kind: 'sent'; at: Date; renderedAs: string | null }
  | { kind: 'failed'; at: Date; error: { code: FailureCode; message: string | null } }
  /** The engine releases its claim without sending. `unsent`: no engine has written a stanza. */
  | { kind: 'returned'; claimId: string; unsent: boolean }
  | { kind: 'receipt'; at: Date; status: 'delivered' | 'read'; played: boolean };

export interface StatusChange {
  facts: MessageFacts;
  /** For the queue entry: `finish` deletes it, `return` makes it wait again in its place. */
  queue: 'keep' | 'finish' | 'return';
  /** The change applies only while the caller holds the claim. */
  needsClaim: boolean;
  events: EventDraft[];
}

/**
 * Decides the status and the events of a message after some updates. Statuses only move forward, except that a late
 * acknowledgement or receipt corrects a timeout. Pure. Returns null if nothing changes: the updates are repeated or late.
 */
export function decideStatus(
  before: MessageFacts,
  updates: readonly StatusUpdate[],
  now: Date,
): StatusChange | null {
  const change: StatusChange = { facts: { ...before }, queue: 'keep', needsClaim: false, events: [] };
  let changed = false;
  for (const update of updates) changed = APPLY[update.kind](change, update as never, now) || changed;
  return changed ? change : null;
}

type UpdateOf<K extends StatusUpdate['kind']> = Extract<StatusUpdate, { kind: K }>;
/** Changes `change` in place. Returns whether the update had an effect. */
type Apply<K extends StatusUpdate['kind']> = (
  change: StatusChange,
  update: UpdateOf<K>,
  now: Date,
) => boolean;

const APPLY: { [K in StatusUpdate['kind']]: Apply<K> } = {
  sent: (change, update, now) => markSent(change, clampTime(change, update.at, now), update.renderedAs),
  failed: applyFailure,
  returned: applyReturn,
  receipt: applyReceipt,
};

/** The network has accepted the message. */
function markSent(change: StatusChange, at: Date, renderedAs: string | null): boolean {
  const { facts } = change;
  if (!canAdvance(facts.status, 'sent', facts.errorCode)) return false;
  Object.assign(facts, { status: 'sent', sentAt: at, failedAt: null, errorCode: null, errorMessage: null });
  facts.renderedAs ??= renderedAs;
  change.queue = 'finish';
  change.events.push(messageSent(facts.subject, at, facts.renderedAs));
  return true;
}

function applyFailure(change: StatusChange, update: UpdateOf<'failed'>, now: Date): boolean {
  const { facts } = change;
  const { code, message } = update.error;
  if (!facts.claimedByCaller || !canAdvance(facts.status, 'failed', facts.errorCode)) return false;
  const at = clampTime(change, update.at, now);
  Object.assign(facts, {
    status: 'failed',
    failedAt: at,
    errorCode: code,
    errorMessage: message,
    claimedByCaller: false,
  });
  change.queue = 'finish';
  change.needsClaim = true;
  change.events.push(messageFailed(facts.subject, at, update.error));
  return true;
}

/** A message that may have been sent stays `sending`, so that it can neither expire nor be canceled. */
function applyReturn(change: StatusChange, { claimId, unsent }: UpdateOf<'returned'>): boolean {
  const { facts } = change;
  if (!facts.claimedByCaller || facts.claimId !== claimId || facts.status !== 'sending') return false;
  if (unsent) facts.attempted = false;
  if (!facts.attempted) facts.status = 'queued';
  facts.claimedByCaller = false;
  change.queue = 'return';
  change.needsClaim = true;
  return true;
}

/** A receipt implies that the message was sent, and `read` that it was delivered. */
function applyReceipt(change: StatusChange, update: UpdateOf<'receipt'>, now: Date): boolean {
  const { facts } = change;
  const at = clampTime(change, update.at, now);
  const wasSent = markSent(change, at, null);
  const advances = canAdvance(facts.status, update.status, facts.errorCode);
  const played = update.played && !facts.played && (advances || facts.status === 'read');
  if (!advances && !played) return wasSent;
  if (advances) facts.status = update.status;
  facts.deliveredAt ??= at;
  if (update.status === 'read') facts.readAt ??= at;
  if (played) facts.played = true;
  change.events.push(
    messageStatusUpdated(facts.subject, at, { status: facts.status as 'delivered' | 'read', played }),
  );
  return true;
}

/** Clocks differ: limits a reported time to between the creation of the message and now. */
function clampTime(change: StatusChange, at: Date, now: Date): Date {
  const earliest = change.facts.createdAt.getTime();
  return new Date(Math.max(earliest, Math.min(at.getTime(), now.getTime())));
}
