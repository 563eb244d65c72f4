import type { Sealer } from '@gwk/core/crypto/encryption';
import type { LeaseIdentity } from '@gwk/core/protocol/engine';
import type { FailureCode } from '@gwk/core/states';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import type { Queryable, QueryRows } from '../database/database.js';
import { selectFields, toColumn } from '../database/model-columns.js';
import { Prisma } from '../generated/prisma/client.js';
import { leaseArrays } from '../fencing/fence.js';
import type { LeaseRefusal } from '../fencing/refusal.js';
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
import { nameMembers } from './member-usernames.js';

interface StatusDependencies {
  database: Queryable;
  sealer: Sealer;
  /** A faster `$queryRaw`, for callers outside transactions. */
  queryRows?: QueryRows;
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

interface StatusUpdateBatch {
  messages: readonly MessageUpdates[];
  /** The rows of the messages, if they have been read already. */
  facts?: readonly MessageRow[];
  /** The engines that report the updates, by place from 1; none for a job. */
  callers?: readonly Reporter[];
  /** Whether a job may fail the message. */
  mayFail?: (row: MessageFacts) => boolean;
}

type Reporter = LeaseIdentity & { instanceId: string };

interface WrittenUpdates {
  updated: string[];
  refusals: LeaseRefusal[] | null;
  waiting: boolean[];
}

interface AppliedUpdates {
  /** The new state of each changed message. */
  changed: MessageRow[];
  /** For each caller: its refusal, and whether its instance has messages to claim. */
  answers: { refusal: LeaseRefusal; waiting: boolean }[];
}

/**
 * Reads messages, decides by pure functions and writes. The write leaves out messages that have changed since they were
 * read; these are read and decided again. So no lock waits for this process. A batch of engines without changes verifies
 * its leases too.
 * @throws if messages still change after 10 attempts
 */
export async function applyStatusUpdates(
  deps: StatusDependencies,
  batch: StatusUpdateBatch,
): Promise<AppliedUpdates> {
  const { callers = [] } = batch;
  const queryRows: QueryRows = deps.queryRows ?? ((statement) => deps.database.$queryRaw(statement));
  const applied: AppliedUpdates = { changed: [], answers: [] };
  let { messages: remaining, facts } = batch;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const rows = facts ?? (await readFacts(queryRows, idsOf(remaining)));
    facts = undefined;
    const decisions = decideAll(rows, remaining, batch);
    if (decisions.length === 0 && (attempt > 1 || callers.length === 0)) return applied;
    await nameMembers(
      queryRows,
      decisions.flatMap(({ change }) => change.events),
    );
    const { updated, refusals, waiting } = await writeChanges({ ...deps, queryRows }, callers, decisions);
    applied.answers = waiting.map((isWaiting, index) => ({ refusal: refusals![index]!, waiting: isWaiting }));
    const changedIds = new Set(updated);
    const decided = new Map(decisions.map(({ message }) => [message.messageId, message]));
    for (const { message, before, change } of decisions) {
      if (!changedIds.has(message.messageId)) continue;
      messageMetrics.advanced(before, change.facts);
      applied.changed.push({ ...change.facts, now: before.now, version: before.version + 1 });
    }
    remaining = remaining.filter((message) => {
      const latest = decided.get(message.messageId);
      const isWritten = latest === message && changedIds.has(message.messageId);
      return latest && !isWritten && refusals?.[message.place - 1] !== 'fenced';
    });
    if (remaining.length === 0) return applied;
  }
  throw new Error(`messages still change after ${MAX_ATTEMPTS} attempts`);
}

async function writeChanges(
  { database, sealer, queryRows }: Required<StatusDependencies>,
  callers: readonly Reporter[],
  decisions: readonly StatusDecision[],
): Promise<WrittenUpdates> {
  const spans = tracing.on ? await traceChanges(database, decisions) : [];
  try {
    const [written] = await queryRows<WrittenUpdates>(
      Prisma.sql`SELECT * FROM gwk_update_messages(
        ${leaseArrays(callers)}, ${changesJson(decisions)}::jsonb, ${eventsJson(sealer, decisions)}::jsonb)`,
    );
    return written!;
  } finally {
    spans.forEach((span) => span.end());
  }
}

/**
 * Fails messages that wait, also if an engine has claimed them. The write checks under the lock of the conversation that
 * a message decided as unattempted still is.
 * @param mayFail by default messages that cannot have been sent
 * @returns the number of failed messages
 */
export async function failMessages(
  deps: StatusDependencies,
  messageIds: readonly string[],
  error: { code: FailureCode; message: string | null },
  mayFail = (row: MessageFacts): boolean => row.attemptedAt === null,
): Promise<number> {
  const messages = messageIds.map((messageId): MessageUpdates => {
    return { place: 1, messageId, updates: [{ kind: 'failed', at: new Date().toISOString(), error }] };
  });
  const { changed } = await applyStatusUpdates(deps, { messages, mayFail });
  return changed.length;
}

interface StatusDecision {
  message: MessageUpdates;
  before: MessageRow & ClaimedFacts;
  change: StatusChange;
  /** Condition of the change (gwk_update_messages). */
  needs: 'claim' | 'unattempted' | null;
}

/** Decides one change of each message; `messages` may contain several. */
function decideAll(
  rows: readonly MessageRow[],
  messages: readonly MessageUpdates[],
  { callers = [], mayFail = () => false }: StatusUpdateBatch,
): StatusDecision[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const decisions: StatusDecision[] = [];
  for (const message of messages) {
    const row = byId.get(message.messageId);
    if (!row) continue;
    const caller = callers[message.place - 1];
    const claimedByCaller = caller
      ? row.claimEpoch === caller.epoch && row.claimHolder === caller.holder
      : mayFail(row);
    const before = { ...row, claimedByCaller };
    const change = decideStatus(before, message.updates, row.now);
    if (!change) continue;
    const unclaimed = row.attemptedAt === null ? 'unattempted' : null;
    const needs = !change.needsClaim ? null : caller ? 'claim' : unclaimed;
    decisions.push({ message, before, change, needs });
    byId.delete(message.messageId);
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
  'lid',
  'phone',
  'username',
  'claimId',
  'claimEpoch',
  'claimHolder',
  'attemptedAt',
] as const satisfies (keyof MessageRow | 'number')[];

/**
 * @param ids SQL of an array of message ids
 * @returns each found message with the position of its id, from 1
 */
export function readFacts(
  queryRows: QueryRows,
  ids: Prisma.Sql,
): Promise<(MessageRow & { number: number })[]> {
  return queryRows(
    Prisma.sql`SELECT ${selectFields(NAMED, 'f')}, ${selectFields(FACT_FIELDS, '(f.message)')}
      FROM gwk_message_facts(${ids}) AS f`,
  );
}

const idsOf = (messages: readonly MessageUpdates[]): Prisma.Sql =>
  Prisma.sql`${messages.map(({ messageId }) => messageId)}::uuid[]`;

const SET_COLUMNS = SET_FIELDS.map((field) => [toColumn(field), field] as const);

function changesJson(decisions: readonly StatusDecision[]): string {
  const changes = decisions.map(({ message: { place }, before: { id, version }, change, needs }) => {
    const { facts, queue } = change;
    const columns: Record<string, unknown> = { place, id, version, needs, queue };
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
