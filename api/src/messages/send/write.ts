import type { MessageOut } from '@gwk/core/resources/message';
import { bytesArray, plainArray, textArray } from '../../database/arrays.js';
import type { Call } from '../../database/database.js';
import { readSqlState } from '../../database/grouping.js';
import { LOCK_NOT_AVAILABLE } from '../../database/pipeline.js';
import { layOutBatch, type BatchLayout } from './fast/batch-layout.js';
import type { SendItem, WritePlan } from './decide.js';

/** An accepted request with the values of its rows. */
export interface WriteEntry {
  request: SendItem;
  plan: WritePlan;
  messageId: string;
  /** Time of the message id, in milliseconds since 1970. */
  createdAt: number;
  waMessageId: string;
  contentSealed: Buffer;
  /** Cached count of the text, if its limit is verified. */
  text: TextCount | null;
  /** Body of the 202 response. */
  response: MessageOut;
  /** Null without an idempotency key, and for a response that can be rebuilt from the message. */
  responseSealed: Buffer | null;
}

interface WriteResult {
  /**
   * For each entry the id of its message, or of the message of an earlier request with the same key and body. Null: its facts
   * were stale, and nothing of it was written.
   */
  messageIds: readonly (string | null)[];
  /** For each entry, the current count of its text; null if no limit was verified for it. */
  texts: readonly (TextCount | null)[];
}

/** Upper limit of the contacts that a text had reached when its instance had sent `textTotal` texts to contacts. */
export interface TextCount {
  count: number;
  textTotal: number;
}

interface BatchWriterOptions {
  call: Call;
  /** After a batch timed out on a lock, later batches skip locked rows at once for this time. */
  skipLockedMs: number;
}

/**
 * Writes a batch in one transaction. The first attempt waits up to 200 ms for locked rows and expects no concurrent insert
 * of the same rows. If it fails, the second attempt skips locked rows and insert conflicts, and leaves out only the
 * requests that need those rows.
 */
export class BatchWriter {
  readonly #options: BatchWriterOptions;
  #skipLockedUntil = -Infinity;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
  }

  async write(entries: readonly WriteEntry[]): Promise<WriteResult> {
    if (entries.length === 0) return { messageIds: [], texts: [] };
    const layout = layOutBatch(entries);
    const batch = { entries, layout };
    const row = await this.#run([
      JSON.stringify(Object.fromEntries(Object.entries(BATCH).map(([name, value]) => [name, value(batch)]))),
      bytesArray(entries, ({ contentSealed }) => contentSealed),
      bytesArray(entries, ({ request }) => request.bodyHash),
      bytesArray(entries, ({ responseSealed }) => responseSealed),
    ]);
    const [written, counts, instanceIds, textTotals, originals] = row as [
      string,
      string,
      string | null,
      string | null,
      string,
    ];
    const newTextTotals = instanceIds === null ? NO_TEXT_TOTALS : addTexts(layout, instanceIds, textTotals!);
    const isWritten = parseElements(written);
    const originalIds = parseElements(originals);
    return {
      messageIds: entries.map(({ messageId }, index) => {
        if (isWritten[index] === 't') return messageId;
        return originalIds[index] === 'NULL' ? null : originalIds[index]!;
      }),
      texts: readTextCounts(entries, counts, newTextTotals),
    };
  }

  async #run(values: readonly unknown[]): Promise<readonly unknown[]> {
    const { call, skipLockedMs } = this.#options;
    const run = (skipLocked: boolean) => call(WRITE, [...values, skipLocked]);
    if (performance.now() < this.#skipLockedUntil) return run(true);
    const row = await run(false).catch((error: unknown) => {
      if (readSqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      this.#skipLockedUntil = performance.now() + skipLockedMs;
      return [null];
    });
    return row[0] === null ? run(true) : row;
  }
}

const NO_TEXT_TOTALS: ReadonlyMap<string, number> = new Map();

/** By instance with limits: the number of texts it has sent to contacts, including this batch. */
function addTexts({ counters }: BatchLayout, ids: string, textTotals: string): Map<string, number> {
  const added = new Map(counters.map(({ instanceId, texts }) => [instanceId, texts]));
  const before = parseElements(textTotals);
  return new Map(parseElements(ids).map((id, index) => [id, Number(before[index]) + added.get(id)!]));
}

/** Adds the rank of each entry: the batch adds at most that many contacts up to this entry. */
function readTextCounts(
  entries: readonly WriteEntry[],
  counts: string,
  textTotals: ReadonlyMap<string, number>,
): (TextCount | null)[] {
  const verified = parseElements(counts);
  return entries.map(({ request, plan }, index) => {
    const textTotal = textTotals.get(request.instanceId);
    if (verified[index] === 'NULL' || textTotal === undefined) return null;
    return { count: Number(verified[index]) + plan.mass!.check!.rank, textTotal };
  });
}

const parseElements = (literal: string) => (literal === '{}' ? [] : literal.slice(1, -1).split(','));

interface Batch {
  entries: readonly WriteEntry[];
  layout: BatchLayout;
}

type Value = (batch: Batch) => unknown;

const plain =
  (pick: (entry: WriteEntry) => string | number | boolean | null): Value =>
  ({ entries }) =>
    plainArray(entries, pick);
const text =
  (pick: (entry: WriteEntry) => string | null): Value =>
  ({ entries }) =>
    textArray(entries, pick);
/** The values of the JSON argument of gwk_accept_write, by name. The function describes each of them. */
const BATCH: Readonly<Record<string, Value>> = {
  places: ({ entries }) => literal(entries.map((_, index) => index + 1)),
  message_ids: plain(({ messageId }) => messageId),
  // Rows whose versions are verified.
  instance_ids: plain(({ request }) => request.instanceId),
  instance_places: ({ layout }) => literal(layout.instances.positions),
  seen_instances: ({ layout }) => literal(layout.instances.ids),
  seen_instance_versions: ({ layout }) => literal(layout.instances.versions),
  account_places: ({ layout }) => literal(layout.accounts.positions),
  seen_accounts: ({ layout }) => literal(layout.accounts.ids),
  seen_account_versions: ({ layout }) => literal(layout.accounts.versions),
  // Conversation and contact.
  conversation_ids: plain(({ plan }) => plan.conversationId),
  new_conversations: plain(({ plan }) => plan.createsConversation),
  contact_ids: plain(({ plan }) => plan.contactId),
  new_contacts: plain(({ plan }) => plan.createsContact),
  names: text(({ request }) => request.recipient.name),
  counted: plain(({ plan }) => plan.counted),
  last_wrote: plain(({ plan }) => plan.lastWroteAt),
  // Message and queue entry.
  recipients: text(({ request }) => request.draft.to),
  types: plain(({ request }) => request.draft.type),
  wa_message_ids: plain(({ waMessageId }) => waMessageId),
  created: plain(({ createdAt }) => createdAt),
  offline_ms: plain(offlineMsAtAcceptance),
  releases: plain(({ plan }) => plan.releaseAt?.toISOString() ?? null),
  // Idempotency record.
  record_ids: plain(({ request }) => request.recordId),
  // Limits.
  new_contact_limits: plain(({ plan }) => plan.newContact?.limit ?? null),
  new_contact_ranks: plain(({ plan }) => plan.newContact?.rank ?? null),
  fingerprints: plain(({ request, plan }) => plan.mass && request.fingerprint),
  mass_limits: plain(({ plan }) => plan.mass?.check?.limit ?? null),
  mass_ranks: plain(({ plan }) => plan.mass?.check?.rank ?? null),
  mass_minutes: plain(({ plan }) => plan.mass?.minutes ?? null),
  mass_counts: plain((entry) => entry.text?.count ?? null),
  mass_text_totals: plain((entry) => entry.text?.textTotal ?? null),
  unprepared: ({ entries }) =>
    literal(entries.filter(({ request }) => !request.draft.prepared).map(({ messageId }) => messageId)),
  // Rows to lock.
  locked_counters: ({ layout }) => literal(layout.counters.map(({ instanceId }) => instanceId)),
  locked_conversations: ({ layout }) => literal(layout.lockedConversations),
  locked_contacts: ({ layout }) => literal(layout.lockedContacts),
  // Increments of conversations and counters.
  ranks: ({ layout }) => literal(layout.ranks),
  chats: ({ layout }) => literal(layout.conversations.map(({ id }) => id)),
  chat_first_places: ({ layout }) => literal(layout.conversations.map(({ firstPosition }) => firstPosition)),
  chat_seq_counts: ({ layout }) => literal(layout.conversations.map(({ seqCount }) => seqCount)),
  chat_new_contact_numbers: ({ layout }) =>
    literal(layout.conversations.map(({ newContactNumber }) => newContactNumber)),
  added_new_contacts: ({ layout }) => literal(layout.counters.map(({ newContacts }) => newContacts)),
  added_texts: ({ layout }) => literal(layout.counters.map(({ texts }) => texts)),
  group_days: ({ entries }) => literal(collectDays(entries)),
  // Rows to create: a lower number of inserted rows means a conflict.
  new_contact_count: countDistinct(({ plan }) => (plan.createsContact ? plan.contactId : null)),
  new_conversation_count: countDistinct(({ plan }) =>
    plan.createsConversation ? plan.conversationId : null,
  ),
  new_key_count: countDistinct(({ request }) => request.recordId),
};
/** Arrays are returned as text, because the driver parses arrays element by element. */
const COLUMNS = ['written', 'text_counts', 'counters', 'text_totals', 'originals']
  .map((column) => `w.${column}::text`)
  .join(', ');
const WRITE = `SELECT ${COLUMNS} FROM gwk_accept_write($1, $2, $3, $4, $5) AS w`;

/** Array literal of ids or numbers, which need no quotes. */
const literal = (values: readonly (string | number)[]) => `{${values.join(',')}}`;

const DAY_MS = 86_400_000;

/** UTC days of the message ids, which determine the partitions, independent of the clock of Postgres. */
const collectDays = (entries: readonly WriteEntry[]): number[] =>
  [...new Set(entries.map(({ createdAt }) => Math.floor(createdAt / DAY_MS)))].sort((a, b) => a - b);

/** Includes the offline time since the facts were read: the expiry of a message counts from its acceptance. */
function offlineMsAtAcceptance({ plan, createdAt }: WriteEntry): number {
  if (plan.offlineSince === null) return plan.offlineMs;
  return plan.offlineMs + Math.max(0, Math.round(createdAt - plan.offlineSince));
}

function countDistinct(pick: (entry: WriteEntry) => string | null): Value {
  return ({ entries }) => {
    const found = new Set(entries.map(pick));
    found.delete(null);
    return found.size;
  };
}
