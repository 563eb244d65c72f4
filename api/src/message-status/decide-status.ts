import type { Outcome } from '@gwk/core/protocol/engine';
import type { ReceiptFields, SentFields } from '@gwk/core/resources/message';
import { FAILURE_TEXTS, canAdvance, type MessageStatus } from '@gwk/core/states';
import { messageEvent, toMessageSubject, type EventDraft } from '../events/emit.js';
import type { Message } from '../generated/prisma/client.js';

/** The fields that updates set. update_messages.sql writes them, and nothing else names them. */
export const SET_FIELDS = [
  'status',
  'errorCode',
  'errorMessage',
  'renderedAs',
  'played',
  'sentAt',
  'deliveredAt',
  'readAt',
  'failedAt',
] as const satisfies (keyof Message)[];

/** The fields of a message that decisions need. */
export const FACT_FIELDS = [
  'id',
  'accountId',
  'instanceId',
  'conversationId',
  'to',
  'waMessageId',
  'version',
  'createdAt',
  'scheduledFor',
  ...SET_FIELDS,
] as const satisfies (keyof Message)[];

/** The stored state of an outbound message, with its conversation and its queue entry. */
export interface MessageFacts extends Pick<Message, (typeof FACT_FIELDS)[number]> {
  status: MessageStatus;
  groupId: string | null;
  lid: string | null;
  phone: string | null;
  username: string | null;
  /** The current claim, of any lease. */
  claimId: string | null;
  claimEpoch: number | null;
  claimHolder: string | null;
  /** When the first stanza may have been written to the network. */
  attemptedAt: Date | null;
}

/** The caller's lease holds the claim. */
export type ClaimedFacts = MessageFacts & { claimedByCaller: boolean };

/** One report about a message, without its names: by its engine, by a receipt, or by a job. */
export type StatusUpdate = OutcomeOf<Outcome>;
type OutcomeOf<T> = T extends unknown ? Omit<T, 'message_id' | 'wa_message_id' | 'traceparent'> : never;

export interface StatusChange {
  facts: ClaimedFacts;
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
  before: ClaimedFacts,
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
  sent: (change, update, now) => markSent(change, clampTime(change, update.at, now), update.rendered_as),
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
  const data = { rendered_as: facts.renderedAs as SentFields['rendered_as'] };
  change.events.push(messageEvent('message.sent', toMessageSubject(facts), at, data));
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
  const subject = toMessageSubject({ ...facts, waMessageId: null });
  const error = { code, message: message ?? FAILURE_TEXTS[code].en };
  change.events.push(messageEvent('message.failed', subject, at, { error }));
  return true;
}

/** A message that may have been sent stays `sending`, so that it can neither expire nor be canceled. */
function applyReturn(change: StatusChange, { claim_id, unsent }: UpdateOf<'returned'>): boolean {
  const { facts } = change;
  if (!facts.claimedByCaller || facts.claimId !== claim_id || facts.status !== 'sending') return false;
  if (unsent) facts.attemptedAt = null;
  if (facts.attemptedAt === null) facts.status = 'queued';
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
  const plays = update.played && !facts.played && (advances || facts.status === 'read');
  if (!advances && !plays) return wasSent;
  if (advances) facts.status = update.status;
  facts.deliveredAt ??= at;
  if (update.status === 'read') facts.readAt ??= at;
  if (plays) facts.played = true;
  const fields = {
    ...nameMember(update),
    status: facts.status as ReceiptFields['status'],
    ...(plays && { played: true }),
  };
  change.events.push(messageEvent('message.status_updated', toMessageSubject(facts), at, fields));
  return true;
}

/** Only the member who causes the change is named. */
const nameMember = ({
  participant,
  participant_username: username = null,
}: UpdateOf<'receipt'>): Partial<ReceiptFields> =>
  participant === undefined ? {} : { participant, participant_username: username };

/** Clocks differ, and receipts have whole seconds: limits a reported time to between the steps before and now. */
function clampTime({ facts }: StatusChange, at: string, now: Date): Date {
  const steps = [facts.createdAt, facts.sentAt, facts.deliveredAt].map((step) => step?.getTime() ?? 0);
  return new Date(Math.max(...steps, Math.min(Date.parse(at), now.getTime())));
}
