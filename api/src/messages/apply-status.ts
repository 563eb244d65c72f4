import type { Sealer } from '@gwk/core/encryption';
import type { FailureCode } from '@gwk/core/states';
import { newUuid, toPublicId } from '@gwk/core/ids';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import type { Queryable } from '../database/database.js';
import { selectFields, toColumn } from '../database/model-columns.js';
import { Prisma } from '../generated/prisma/client.js';
import { eventItem } from '../events/emit.js';
import { messageMetrics } from '../platform/metrics/messages.js';
import { keepContexts, readContexts, type TraceContext } from '../platform/trace-contexts.js';
import {
  decideStatus,
  FACT_FIELDS,
  SET_FIELDS,
  type ClaimedFacts,
  type MessageFacts,
  type StatusChange,
  type StatusUpdate,
} from './decide-status.js';

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

const MAX_ATTEMPTS = 10;

/** Writes changes and returns the ids of the changed messages. The others are decided again. */
type WriteChanges = (changes: string, events: string) => Promise<ReadonlySet<string>>;

interface StatusUpdateBatch {
  messages: readonly MessageUpdates[];
  /** The rows of the messages, if they have been read already. */
  facts?: readonly MessageRow[];
  /** Whether the caller at this place holds the claim of the message. */
  hasClaim: (place: number, row: MessageRow) => boolean;
  /** Whether the last write has rejected the message for good, so that it is not retried. */
  isRefused?: (message: MessageUpdates) => boolean;
  /** Receives the new state of each changed message. */
  onChanged?: (row: MessageRow) => void;
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
    const rows = knownFacts ?? (await readFacts(deps.database, idsOf(remaining)));
    knownFacts = undefined;
    const decisions = decideAll(rows, remaining, hasClaim);
    if (decisions.length === 0) return;
    const spans = tracing.on ? await traceChanges(deps.database, decisions) : [];
    const changedIds = await write(changesJson(decisions), eventsJson(deps.sealer, decisions)).finally(() =>
      spans.forEach((span) => span.end()),
    );
    for (const { message, before, change } of decisions) {
      if (!changedIds.has(message.messageId)) continue;
      messageMetrics.advanced(before, change.facts);
      onChanged?.({ ...change.facts, now: before.now, version: before.version + 1 });
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
  mayFail: (row: MessageFacts) => boolean = () => true,
): Promise<number> {
  let amount = 0;
  const messages = messageIds.map((messageId): MessageUpdates => {
    return { place: 1, messageId, updates: [{ kind: 'failed', at: new Date().toISOString(), error }] };
  });
  const isUnattempted = (_: number, row: MessageRow): boolean => row.attemptedAt === null && mayFail(row);
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
  before: MessageRow & ClaimedFacts;
  change: StatusChange;
}

function decideAll(
  rows: readonly MessageRow[],
  messages: readonly MessageUpdates[],
  hasClaim: StatusUpdateBatch['hasClaim'],
): StatusDecision[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const decisions: StatusDecision[] = [];
  for (const message of messages) {
    const row = byId.get(message.messageId);
    if (!row) continue;
    const before = { ...row, claimedByCaller: hasClaim(message.place, row) };
    const change = decideStatus(before, message.updates, row.now);
    if (change) decisions.push({ message, before, change });
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

/** `now`: time of the read. */
export type MessageRow = MessageFacts & { now: Date };

const NAMED = [
  'number',
  'now',
  'groupId',
  'contactName',
  'claimId',
  'claimEpoch',
  'claimHolder',
  'attemptedAt',
] as const satisfies (keyof MessageRow | 'number')[];

/**
 * @param ids SQL of an array of message ids
 * @returns each found message with the position of its id, from 1
 */
export function readFacts(db: Queryable, ids: Prisma.Sql): Promise<(MessageRow & { number: number })[]> {
  return db.$queryRaw`
    SELECT ${selectFields(NAMED, 'f')}, ${selectFields(FACT_FIELDS, '(f.message)')}
    FROM gwk_message_facts(${ids}) AS f`;
}

const idsOf = (messages: readonly MessageUpdates[]): Prisma.Sql =>
  Prisma.sql`${messages.map(({ messageId }) => messageId)}::uuid[]`;

const SET_COLUMNS = SET_FIELDS.map((field) => [toColumn(field), field] as const);

function changesJson(decisions: readonly StatusDecision[]): string {
  const changes = decisions.map(({ message: { place }, before: { id, version }, change }) => {
    const { facts, queue, needsClaim } = change;
    const columns: Record<string, unknown> = { place, id, version, held: needsClaim, queue };
    for (const [column, field] of SET_COLUMNS) columns[column] = facts[field];
    return columns;
  });
  return JSON.stringify(changes);
}

function eventsJson(sealer: Sealer, decisions: readonly StatusDecision[]): string {
  return JSON.stringify(
    decisions.flatMap(({ message, change }) =>
      change.events.map((draft) => eventItem(sealer, message.messageId, draft)),
    ),
  );
}
