import type { MessageOut } from '@gwk/core/resources/message';
import { bytesArray, plainArray, textArray } from '../../database/arrays.js';
import type { Call } from '../../database/database.js';
import { readSqlState } from '../../database/grouping.js';
import { LOCK_NOT_AVAILABLE } from '../../database/pipeline.js';
import { layOutBatch, type BatchLayout } from './fast/batch-layout.js';
import type { SendRequest, WritePlan } from './decide.js';

/** An accepted request with the values of its rows. */
export interface WriteEntry {
  request: SendRequest;
  plan: WritePlan;
  messageId: string;
  /** Time of the message id, in milliseconds since 1970. */
  createdAt: number;
  to: string;
  type: string;
  /** False: the worker has to fetch, convert or preview something before the message can be claimed. */
  prepared: boolean;
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
 * Writes a batch in one transaction. The first attempt waits up to 200 ms for locked rows and expects no concurrent insert of the same rows. If it fails, the second attempt skips locked
 * rows and insert conflicts, and leaves out only the requests that need those rows.
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
    const row = await this.#run(ARGUMENTS.map(([, , value]) => value(batch)));
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
const bytes =
  (pick: (entry: WriteEntry) => Buffer | null): Value =>
  ({ entries }) =>
    bytesArray(entries, pick);
/** Arguments of gwk_accept_write, except `skip_locked`. The function describes its parameters. */
const ARGUMENTS: readonly (readonly [name: string, type: string, value: Value])[] = [
  ['places', 'integer[]', ({ entries }) => literal(entries.map((_, index) => index + 1))],
  ['message_ids', 'uuid[]', plain(({ messageId }) => messageId)],
  // Rows whose versions are verified.
  ['instance_ids', 'uuid[]', plain(({ request }) => request.instanceId)],
  ['instance_places', 'integer[]', ({ layout }) => literal(layout.instances.positions)],
  ['seen_instances', 'uuid[]', ({ layout }) => literal(layout.instances.ids)],
  ['seen_instance_versions', 'xid[]', ({ layout }) => literal(layout.instances.versions)],
  ['account_places', 'integer[]', ({ layout }) => literal(layout.accounts.positions)],
  ['seen_accounts', 'uuid[]', ({ layout }) => literal(layout.accounts.ids)],
  ['seen_account_versions', 'xid[]', ({ layout }) => literal(layout.accounts.versions)],
  // Conversation and contact.
  ['conversation_ids', 'uuid[]', plain(({ plan }) => plan.conversationId)],
  ['new_conversations', 'boolean[]', plain(({ plan }) => plan.createsConversation)],
  ['contact_ids', 'uuid[]', plain(({ plan }) => plan.contactId)],
  ['new_contacts', 'boolean[]', plain(({ plan }) => plan.createsContact)],
  ['names', 'text[]', text(({ request }) => request.recipient.name)],
  ['counted', 'boolean[]', plain(({ plan }) => plan.counted)],
  ['last_wrote', 'double precision[]', plain(({ plan }) => plan.lastWroteAt)],
  // Message and queue entry.
  ['recipients', 'text[]', text(({ to }) => to)],
  ['types', 'text[]', plain(({ type }) => type)],
  ['wa_message_ids', 'text[]', plain(({ waMessageId }) => waMessageId)],
  ['contents', 'bytea[]', bytes(({ contentSealed }) => contentSealed)],
  ['created', 'double precision[]', plain(({ createdAt }) => createdAt)],
  ['offline_ms', 'bigint[]', plain(offlineMsAtAcceptance)],
  ['releases', 'timestamptz[]', plain(({ plan }) => plan.releaseAt?.toISOString() ?? null)],
  // Idempotency record.
  ['record_ids', 'uuid[]', plain(({ request }) => request.recordId)],
  ['body_hashes', 'bytea[]', bytes(({ request }) => request.bodyHash)],
  ['responses', 'bytea[]', bytes(({ responseSealed }) => responseSealed)],
  // Limits.
  ['new_contact_limits', 'integer[]', plain(({ plan }) => plan.newContact?.limit ?? null)],
  ['new_contact_ranks', 'integer[]', plain(({ plan }) => plan.newContact?.rank ?? null)],
  ['fingerprints', 'uuid[]', plain(({ request, plan }) => plan.mass && request.fingerprint)],
  ['mass_limits', 'integer[]', plain(({ plan }) => plan.mass?.check?.limit ?? null)],
  ['mass_ranks', 'integer[]', plain(({ plan }) => plan.mass?.check?.rank ?? null)],
  ['mass_minutes', 'integer[]', plain(({ plan }) => plan.mass?.minutes ?? null)],
  ['mass_counts', 'integer[]', plain((entry) => entry.text?.count ?? null)],
  ['mass_text_totals', 'bigint[]', plain((entry) => entry.text?.textTotal ?? null)],
  [
    'unprepared',
    'uuid[]',
    ({ entries }) => literal(entries.filter(isUnprepared).map(({ messageId }) => messageId)),
  ],
  // Rows to lock.
  ['locked_counters', 'uuid[]', ({ layout }) => literal(layout.counters.map(({ instanceId }) => instanceId))],
  ['locked_conversations', 'uuid[]', ({ layout }) => literal(layout.lockedConversations)],
  ['locked_contacts', 'uuid[]', ({ layout }) => literal(layout.lockedContacts)],
  // Increments of conversations and counters.
  ['ranks', 'integer[]', ({ layout }) => literal(layout.ranks)],
  ['chats', 'uuid[]', ({ layout }) => literal(layout.conversations.map(({ id }) => id))],
  [
    'chat_first_places',
    'integer[]',
    ({ layout }) => literal(layout.conversations.map(({ firstPosition }) => firstPosition)),
  ],
  [
    'chat_seq_counts',
    'integer[]',
    ({ layout }) => literal(layout.conversations.map(({ seqCount }) => seqCount)),
  ],
  [
    'chat_new_contact_numbers',
    'integer[]',
    ({ layout }) => literal(layout.conversations.map(({ newContactNumber }) => newContactNumber)),
  ],
  [
    'added_new_contacts',
    'integer[]',
    ({ layout }) => literal(layout.counters.map(({ newContacts }) => newContacts)),
  ],
  ['added_texts', 'integer[]', ({ layout }) => literal(layout.counters.map(({ texts }) => texts))],
  ['group_days', 'integer[]', ({ entries }) => literal(collectDays(entries))],
  // Rows to create: a lower number of inserted rows means a conflict.
  [
    'new_contact_count',
    'integer',
    countDistinct(({ plan }) => (plan.createsContact ? plan.contactId : null)),
  ],
  [
    'new_conversation_count',
    'integer',
    countDistinct(({ plan }) => (plan.createsConversation ? plan.conversationId : null)),
  ],
  ['new_key_count', 'integer', countDistinct(({ request }) => request.recordId)],
];
/** Arrays are returned as text, because the driver parses arrays element by element. */
const COLUMNS = ['written', 'text_counts', 'counters', 'text_totals', 'originals']
  .map((column) => `w.${column}::text`)
  .join(', ');
const PARAMETERS = [...ARGUMENTS.map(([name, type]) => [name, type] as const), ['skip_locked', 'boolean']]
  .map(([name, type], index) => `${name} => $${index + 1}::${type}`)
  .join(', ');
const WRITE = `SELECT ${COLUMNS} FROM gwk_accept_write(${PARAMETERS}) AS w`;

/** Array literal of ids or numbers, which need no quotes. */
const literal = (values: readonly (string | number)[]) => `{${values.join(',')}}`;

const isUnprepared = ({ prepared }: WriteEntry) => !prepared;

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
