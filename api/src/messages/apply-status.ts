import type { Sealer } from '@gwk/core/encryption';
import type { FailureCode, MessageStatus } from '@gwk/core/states';
import { newUuid, toPublicId } from '@gwk/core/ids';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import type { Queryable } from '../database/database.js';
import { eventItem } from '../events/emit.js';
import { subjectOf } from '../events/subjects.js';
import { messageMetrics } from '../platform/metrics/messages.js';
import { keepContexts, readContexts, type TraceContext } from '../platform/trace-contexts.js';
import { decideChange, type Finding, type MessageChange, type MessageFacts } from './decide-status.js';

/**
 * Reads messages, decides, and writes under the condition that they are still as they were read; what has changed
 * meanwhile is read and decided again. So decisions are plain functions, and no lock waits for this process.
 */
export interface ChangeDeps {
  database: Queryable;
  sealer: Sealer;
}

/** A message as something is learnt about it; `place` names the caller in a group. */
export interface Learnt {
  place: number;
  messageId: string;
  findings: Finding[];
  /** Of the span that learnt it; that of the acceptance where there is none. */
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

const MAX_TRIES = 10;

/** Writes one set of changes; answers the ids of the messages whose change was made; the others are decided again. */
export type Write = (changes: string, events: string) => Promise<ReadonlySet<string>>;

export interface Findings {
  learnt: readonly Learnt[];
  /** What the messages are, where that has been read already. */
  facts?: readonly FactsRow[];
  /** Whether the place's caller has the message claimed, from what was read. */
  holds: (place: number, row: FactsRow) => boolean;
  /** Whether the last write has refused it for good: its change is neither made nor tried again. */
  refused?: (learnt: Learnt) => boolean;
  /** Told what a message has become by a change of this. */
  changed?: (row: FactsRow) => void;
}

/** @throws when messages keep changing under it */
export async function applyFindings(
  deps: ChangeDeps,
  { learnt, facts, holds, refused, changed }: Findings,
  write: Write,
): Promise<void> {
  let open = learnt;
  let known = facts;
  for (let attempt = 1; open.length > 0; attempt++) {
    if (attempt > MAX_TRIES) throw new Error('messages keep changing while they are decided');
    const decided = decideAll(known ?? (await readFacts(deps.database, open)), open, holds);
    known = undefined;
    if (decided.length === 0) return;
    const spans = tracing.on ? await traceChanges(deps.database, decided) : [];
    const made = await write(changesJson(decided), eventsJson(deps.sealer, decided)).finally(() =>
      spans.forEach((span) => span.end()),
    );
    for (const { messageId, row, before, change } of decided) {
      if (!made.has(messageId)) continue;
      messageMetrics.advanced(before, change.facts);
      changed?.(rowAfter(row, change.facts));
    }
    open = decided
      .filter(({ messageId, learnt: item }) => !made.has(messageId) && !refused?.(item))
      .map(({ learnt: item }) => item);
  }
}

/**
 * Fails messages that wait, whoever has them claimed; those that may have left are not touched. That none of them
 * begins to leave between the decision and the change is seen to under the lock of its conversation.
 * @param may further conditions on those that are failed
 * @returns how many it failed
 */
export async function failMessages(
  deps: ChangeDeps,
  messageIds: readonly string[],
  error: { code: FailureCode; message: string | null },
  may: (row: FactsRow) => boolean = () => true,
): Promise<number> {
  let amount = 0;
  const learnt = messageIds.map((messageId): Learnt => {
    return { place: 1, messageId, findings: [{ kind: 'failed', at: new Date(), error }] };
  });
  const waits = (_: number, row: FactsRow): boolean => row.attempted_at === null && may(row);
  await applyFindings(deps, { learnt, holds: waits }, async (changes, events) => {
    const [row] = await deps.database.$queryRaw<{ made: string[] }[]>`
      SELECT gwk_fail_unattempted(${changes}::jsonb, ${events}::jsonb) AS made`;
    amount += row!.made.length;
    return new Set(row!.made);
  });
  return amount;
}

interface Decided {
  messageId: string;
  learnt: Learnt;
  row: FactsRow;
  before: MessageFacts;
  change: MessageChange;
}

function decideAll(
  rows: readonly FactsRow[],
  learnt: readonly Learnt[],
  holds: (place: number, row: FactsRow) => boolean,
): Decided[] {
  const byId = new Map(rows.map((row) => [row.message_id, row]));
  const decided: Decided[] = [];
  for (const item of learnt) {
    const row = byId.get(item.messageId);
    if (!row) continue;
    const before = factsOf(row, holds(item.place, row));
    const change = decideChange(before, item.findings, row.now);
    if (change) decided.push({ messageId: item.messageId, learnt: item, row, before, change });
  }
  return decided;
}

/** Of each change a span, which the webhooks of its events go on from. */
async function traceChanges(db: Queryable, decided: readonly Decided[]): Promise<Span[]> {
  const contexts = await readContexts(
    db,
    decided.flatMap(({ messageId, learnt }) => (learnt.traceparent ? [] : [messageId])),
  );
  const events: TraceContext[] = [];
  const spans = decided.map(({ messageId, learnt, change: { facts, events: drafts } }) => {
    const parent = learnt.traceparent ?? contexts.get(messageId);
    const attributes = {
      'gwk.message.id': toPublicId('message', messageId),
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

function factsOf(row: FactsRow, held: boolean): MessageFacts {
  return {
    subject: subjectOf(row),
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
    held,
    claimId: row.claim_id,
    attempted: row.attempted_at !== null,
  };
}

function rowAfter(row: FactsRow, facts: MessageFacts): FactsRow {
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

function readFacts(db: Queryable, learnt: readonly Learnt[]): Promise<FactsRow[]> {
  const ids = learnt.map(({ messageId }) => messageId);
  return db.$queryRaw<FactsRow[]>`SELECT * FROM gwk_message_facts(${ids}::uuid[])`;
}

function changesJson(decided: readonly Decided[]): string {
  return JSON.stringify(
    decided.map(({ messageId, learnt, before: { version }, change: { facts, queue, needsClaim } }) => ({
      place: learnt.place,
      message_id: messageId,
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

function eventsJson(sealer: Sealer, decided: readonly Decided[]): string {
  return JSON.stringify(
    decided.flatMap(({ messageId, change }) =>
      change.events.map((draft) => eventItem(sealer, messageId, draft)),
    ),
  );
}
