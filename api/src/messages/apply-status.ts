import type { Sealer } from '@gwk/core/encryption';
import type { FailureCode, MessageStatus } from '@gwk/core/states';
import { newUuid, toPublicId } from '@gwk/core/ids';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import type { Queryable } from '../database/database.js';
import { eventItem } from '../events/emit.js';
import { toMessageSubject } from '../events/subjects.js';
import { messageMetrics } from '../platform/metrics/messages.js';
import { keepContexts, readContexts, type TraceContext } from '../platform/trace-contexts.js';
import { decideStatus, type MessageFacts, type StatusChange, type StatusUpdate } from './decide-status.js';

interface StatusDependencies {
  database: Queryable;
  sealer: Sealer;
}

/** The updates of one message. `place` is the position of its caller in a batch. */
export interface MessageUpdates {
  place: number;
  messageId: string;
  updates: StatusUpdate[];
  /** Trace context of the reporting span; by default that of the acceptance. */
  traceparent?: string | undefined;
}

export interface FactsRow {
  now: Date;
  message_id: string;
  account_id: string;
  instance_id: string;
  wa_message_id: string | null;
  group_id: string | null;
  contact_name: string | null;
  version: number;
  created_at: Date;
  scheduled_for: Date | null;
  status: MessageStatus;
  error_code: string | null;
  error_message: string | null;
  rendered_as: string | null;
  played: boolean;
  sent_at: Date | null;
  delivered_at: Date | null;
  read_at: Date | null;
  failed_at: Date | null;
  claim_epoch: number | null;
  claim_holder: string | null;
  claim_id: string | null;
  attempted_at: Date | null;
}

const MAX_ATTEMPTS = 10;

/** Writes changes and returns the ids of the changed messages. The others are decided again. */
type WriteChanges = (changes: string, events: string) => Promise<ReadonlySet<string>>;

interface StatusUpdateBatch {
  messages: readonly MessageUpdates[];
  /** The rows of the messages, if they have been read already. */
  facts?: readonly FactsRow[];
  /** Whether the caller at this place holds the claim of the message. */
  hasClaim: (place: number, row: FactsRow) => boolean;
  /** Whether the last write has rejected the message for good, so that it is not retried. */
  isRefused?: (message: MessageUpdates) => boolean;
  /** Receives the new state of each changed message. */
  onChanged?: (row: FactsRow) => void;
}

/**
 * Reads messages, decides by pure functions and writes. The write leaves out messages that have changed since they were
 * read; these are read and decided again. So no lock waits for this process.
 * @throws if messages still change after 10 attempts
 */
export async function applyStatusUpdates(
  deps: StatusDependencies,
  { messages, facts, hasClaim, isRefused, onChanged }: StatusUpdateBatch,
  write: WriteChanges,
): Promise<void> {
  let remaining = messages;
  let knownFacts = facts;
  for (let attempt = 1; remaining.length > 0; attempt++) {
    if (attempt > MAX_ATTEMPTS) throw new Error(`messages still change after ${MAX_ATTEMPTS} attempts`);
    const rows = knownFacts ?? (await readFacts(deps.database, remaining));
    knownFacts = undefined;
    const decisions = decideAll(rows, remaining, hasClaim);
    if (decisions.length === 0) return;
    const spans = tracing.on ? await traceChanges(deps.database, decisions) : [];
    const changedIds = await write(changesJson(decisions), eventsJson(deps.sealer, decisions)).finally(() =>
      spans.forEach((span) => span.end()),
    );
    for (const { message, row, before, change } of decisions) {
      if (!changedIds.has(message.messageId)) continue;
      messageMetrics.advanced(before, change.facts);
      onChanged?.(updateRow(row, change.facts));
    }
    remaining = decisions
      .map(({ message }) => message)
      .filter((message) => !changedIds.has(message.messageId) && !isRefused?.(message));
  }
}

/**
 * Fails messages that wait, also if an engine has claimed them. Messages that may have been sent are not changed: the
 * write checks that under the lock of the conversation.
 * @param mayFail a further condition
 * @returns the number of failed messages
 */
export async function failMessages(
  deps: StatusDependencies,
  messageIds: readonly string[],
  error: { code: FailureCode; message: string | null },
  mayFail: (row: FactsRow) => boolean = () => true,
): Promise<number> {
  let amount = 0;
  const messages = messageIds.map((messageId): MessageUpdates => {
    return { place: 1, messageId, updates: [{ kind: 'failed', at: new Date(), error }] };
  });
  const isUnattempted = (_: number, row: FactsRow): boolean => row.attempted_at === null && mayFail(row);
  await applyStatusUpdates(deps, { messages, hasClaim: isUnattempted }, async (changes, events) => {
    const [row] = await deps.database.$queryRaw<{ made: string[] }[]>`
      SELECT gwk_fail_unattempted(${changes}::jsonb, ${events}::jsonb) AS made`;
    amount += row!.made.length;
    return new Set(row!.made);
  });
  return amount;
}

interface StatusDecision {
  message: MessageUpdates;
  row: FactsRow;
  before: MessageFacts;
  change: StatusChange;
}

function decideAll(
  rows: readonly FactsRow[],
  messages: readonly MessageUpdates[],
  hasClaim: (place: number, row: FactsRow) => boolean,
): StatusDecision[] {
  const byId = new Map(rows.map((row) => [row.message_id, row]));
  const decisions: StatusDecision[] = [];
  for (const message of messages) {
    const row = byId.get(message.messageId);
    if (!row) continue;
    const before = toFacts(row, hasClaim(message.place, row));
    const change = decideStatus(before, message.updates, row.now);
    if (change) decisions.push({ message, row, before, change });
  }
  return decisions;
}

/** Starts a span for each change. The webhooks of its events continue from it. */
async function traceChanges(db: Queryable, decisions: readonly StatusDecision[]): Promise<Span[]> {
  const contexts = await readContexts(
    db,
    decisions.flatMap(({ message }) => (message.traceparent ? [] : [message.messageId])),
  );
  const events: TraceContext[] = [];
  const spans = decisions.map(({ message, change: { facts, events: drafts } }) => {
    const parent = message.traceparent ?? contexts.get(message.messageId);
    const attributes = {
      'gwk.message.id': toPublicId('message', message.messageId),
      'gwk.message.status': facts.status,
      ...(facts.errorCode !== null && { 'gwk.message.error': facts.errorCode }),
    };
    const span = tracing.child('outcome', parent, { attributes });
    for (const draft of drafts) events.push([(draft.id ??= newUuid()), span.traceparent]);
    return span;
  });
  await keepContexts(db, events);
  return spans;
}

function toFacts(row: FactsRow, claimedByCaller: boolean): MessageFacts {
  return {
    subject: toMessageSubject(row),
    version: row.version,
    createdAt: row.created_at,
    scheduledFor: row.scheduled_for,
    status: row.status,
    errorCode: row.error_code,
    errorMessage: row.error_message,
    renderedAs: row.rendered_as,
    played: row.played,
    sentAt: row.sent_at,
    deliveredAt: row.delivered_at,
    readAt: row.read_at,
    failedAt: row.failed_at,
    claimedByCaller,
    claimId: row.claim_id,
    attempted: row.attempted_at !== null,
  };
}

function updateRow(row: FactsRow, facts: MessageFacts): FactsRow {
  return {
    ...row,
    version: row.version + 1,
    status: facts.status,
    error_code: facts.errorCode,
    error_message: facts.errorMessage,
    rendered_as: facts.renderedAs,
    played: facts.played,
    sent_at: facts.sentAt,
    delivered_at: facts.deliveredAt,
    read_at: facts.readAt,
    failed_at: facts.failedAt,
  };
}

function readFacts(db: Queryable, messages: readonly MessageUpdates[]): Promise<FactsRow[]> {
  const ids = messages.map(({ messageId }) => messageId);
  return db.$queryRaw<FactsRow[]>`SELECT * FROM gwk_message_facts(${ids}::uuid[])`;
}

function changesJson(decisions: readonly StatusDecision[]): string {
  return JSON.stringify(
    decisions.map(({ message, before: { version }, change: { facts, queue, needsClaim } }) => ({
      place: message.place,
      message_id: message.messageId,
      version,
      held: needsClaim,
      status: facts.status,
      sent_at: facts.sentAt,
      delivered_at: facts.deliveredAt,
      read_at: facts.readAt,
      failed_at: facts.failedAt,
      error_code: facts.errorCode,
      error_message: facts.errorMessage,
      rendered_as: facts.renderedAs,
      played: facts.played,
      queue,
    })),
  );
}

function eventsJson(sealer: Sealer, decisions: readonly StatusDecision[]): string {
  return JSON.stringify(
    decisions.flatMap(({ message, change }) =>
      change.events.map((draft) => eventItem(sealer, message.messageId, draft)),
    ),
  );
}
