import { canAdvance, type FailureCode, type MessageStatus } from '@gwk/core/states';
import {
  messageFailed,
  messageSent,
  messageStatusUpdated,
  type EventDraft,
  type MessageSubject,
} from '../events/emit.js';

/**
 * What becomes of an outbound message when something is learnt about it (design: doubt ends; statuses only move
 * forward). Pure: facts and outcomes in, a change with its events out.
 */
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
  /** The caller's lease has it claimed. */
  held: boolean;
  /** By which claim, whoever has it. */
  claimId: string | null;
  /** A stanza may have been written. */
  attempted: boolean;
}

export type Finding =
  | { kind: 'sent'; at: Date; renderedAs: string | null }
  | { kind: 'failed'; at: Date; error: { code: FailureCode; message: string | null } }
  /** Claimed and not given to the socket; `unsent`: at no time, by anybody. */
  | { kind: 'returned'; claimId: string; unsent: boolean }
  | { kind: 'receipt'; at: Date; status: 'delivered' | 'read'; played: boolean };

export interface MessageChange {
  facts: MessageFacts;
  /** The entry of the queue: `finish` removes it, `return` lets it wait again at its place. */
  queue: 'keep' | 'finish' | 'return';
  /** Decided on the claim: void where the caller has it no more. */
  needsClaim: boolean;
  events: EventDraft[];
}

/** Null when nothing changes: a repetition, or news that came too late. */
export function decideChange(
  before: MessageFacts,
  findings: readonly Finding[],
  now: Date,
): MessageChange | null {
  const change: MessageChange = { facts: { ...before }, queue: 'keep', needsClaim: false, events: [] };
  let changed = false;
  for (const finding of findings) changed = APPLY[finding.kind](change, finding as never, now) || changed;
  return changed ? change : null;
}

type Apply<K extends Finding['kind']> = (
  change: MessageChange,
  finding: Extract<Finding, { kind: K }>,
  now: Date,
) => boolean;

const APPLY: { [K in Finding['kind']]: Apply<K> } = {
  sent: (change, finding, now) => leave(change, timeOf(change, finding.at, now), finding.renderedAs),
  failed: applyFailure,
  returned: applyReturn,
  receipt: applyReceipt,
};

/** The network accepted the message. */
function leave(change: MessageChange, at: Date, renderedAs: string | null): boolean {
  const { facts } = change;
  if (!canAdvance(facts.status, 'sent', facts.errorCode)) return false;
  Object.assign(facts, { status: 'sent', sentAt: at, failedAt: null, errorCode: null, errorMessage: null });
  facts.renderedAs ??= renderedAs;
  change.queue = 'finish';
  change.events.push(messageSent(facts.subject, at, facts.renderedAs));
  return true;
}

function applyFailure(
  change: MessageChange,
  finding: Extract<Finding, { kind: 'failed' }>,
  now: Date,
): boolean {
  const { facts } = change;
  const { code, message } = finding.error;
  if (!facts.held || !canAdvance(facts.status, 'failed', facts.errorCode)) return false;
  const at = timeOf(change, finding.at, now);
  Object.assign(facts, {
    status: 'failed',
    failedAt: at,
    errorCode: code,
    errorMessage: message,
    held: false,
  });
  change.queue = 'finish';
  change.needsClaim = true;
  change.events.push(messageFailed(facts.subject, at, finding.error));
  return true;
}

/** What was attempted and may have left stays `sending`: it can neither expire nor be canceled. */
function applyReturn(
  change: MessageChange,
  { claimId, unsent }: Extract<Finding, { kind: 'returned' }>,
): boolean {
  const { facts } = change;
  if (!facts.held || facts.claimId !== claimId || facts.status !== 'sending') return false;
  if (unsent) facts.attempted = false;
  if (!facts.attempted) facts.status = 'queued';
  facts.held = false;
  change.queue = 'return';
  change.needsClaim = true;
  return true;
}

/** A receipt implies that the message left, and `read` that it was delivered. */
function applyReceipt(
  change: MessageChange,
  finding: Extract<Finding, { kind: 'receipt' }>,
  now: Date,
): boolean {
  const { facts } = change;
  const at = timeOf(change, finding.at, now);
  const left = leave(change, at, null);
  const advanced = canAdvance(facts.status, finding.status, facts.errorCode);
  const heard = finding.played && !facts.played && (advanced || facts.status === 'read');
  if (!advanced && !heard) return left;
  if (advanced) facts.status = finding.status;
  facts.deliveredAt ??= at;
  if (finding.status === 'read') facts.readAt ??= at;
  if (heard) facts.played = true;
  change.events.push(
    messageStatusUpdated(facts.subject, at, { status: facts.status as 'delivered' | 'read', played: heard }),
  );
  return true;
}

/** Clocks differ: nothing happens to a message before it exists, and nothing in the future. */
function timeOf(change: MessageChange, at: Date, now: Date): Date {
  const earliest = change.facts.createdAt.getTime();
  return new Date(Math.max(earliest, Math.min(at.getTime(), now.getTime())));
}
