import type { Call } from '../../database/database.js';
import { LOCK_NOT_AVAILABLE } from '../../database/pipeline.js';
import type { Plan, Request } from './decide.js';
import { sqlStateOf } from '../../database/grouping.js';
import { bytesArray, plainArray, textArray } from '../../database/arrays.js';
import { layOut, type Layout } from './layout.js';

/** A request that was decided to be written, with all that goes into its rows. */
export interface Entry {
  request: Request;
  plan: Plan;
  messageId: string;
  /** Milliseconds since 1970: the time of the id. */
  createdAt: number;
  to: string;
  type: string;
  /** False: the worker has something to fetch, convert or preview first. */
  prepared: boolean;
  waMessageId: string;
  contentSealed: Buffer;
  /** What was known of its text, where that has a limit. */
  text: TextCount | null;
  /** The answer. */
  body: string;
  /** Null where there is no key to replay it by, or the answer can be made again from the message. */
  responseSealed: Buffer | null;
}

const TYPES = [
  ...['integer[]', 'uuid[]'],
  ...['uuid[]', 'integer[]', 'uuid[]', 'xid[]'],
  ...['integer[]', 'uuid[]', 'xid[]'],
  ...['uuid[]', 'boolean[]', 'uuid[]', 'boolean[]', 'text[]', 'boolean[]', 'double precision[]'],
  ...['text[]', 'text[]', 'text[]', 'bytea[]', 'double precision[]', 'bigint[]', 'timestamptz[]'],
  ...['uuid[]', 'bytea[]', 'bytea[]'],
  ...[
    'integer[]',
    'integer[]',
    'uuid[]',
    'integer[]',
    'integer[]',
    'integer[]',
    'integer[]',
    'bigint[]',
    'uuid[]',
  ],
  ...['uuid[]', 'uuid[]', 'uuid[]'],
  ...['integer[]', 'uuid[]', 'integer[]', 'integer[]', 'integer[]'],
  ...['integer[]', 'integer[]', 'integer[]', 'integer', 'integer', 'integer'],
  ...['uuid[]', 'xid[]', 'uuid[]', 'bytea[]', 'uuid[]'],
  'boolean',
];
/** As text: the driver reads arrays element by element. */
const WRITTEN = ['written', 'text_counts', 'counters', 'text_totals', 'verified']
  .map((column) => `w.${column}::text`)
  .join(', ');
const WRITER = `gwk_accept_write(${TYPES.map((type, i) => `$${i + 1}::${type}`).join(', ')}) AS w`;
const WRITE = `SELECT ${WRITTEN} FROM ${WRITER}`;

const DAY_MS = 86_400_000;

/** A request believed to repeat one that was written. */
export interface Repeat {
  request: Request;
  messageId: string;
  accountVersion: string;
}

/** For each, whether it is what it was decided to be; false: the world had moved since it was seen. */
interface Outcome {
  written: readonly boolean[];
  /** Of each entry whose text has a limit: what is known of the text now. */
  texts: readonly (TextCount | null)[];
  proved: readonly boolean[];
}

/** How many contacts a text had reached at most, when its instance had sent so many texts to contacts. */
export interface TextCount {
  count: number;
  number: number;
}

export interface WriterOptions {
  call: Call;
  /** For so many milliseconds after a group had to wait for what somebody holds, all others are written with care. */
  carefulMs: number;
}

/**
 * Writes a group in one transaction: first as if nobody else were about, then, where somebody holds the contact of one or
 * has made what one was to make, with care, which costs only those. What is believed to be a repeat is looked up beside
 * it: the proof costs a look at an index, not a statement.
 */
export class Writer {
  readonly #options: WriterOptions;
  #carefulUntil = -Infinity;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  async write(entries: readonly Entry[], repeats: readonly Repeat[]): Promise<Outcome> {
    if (entries.length + repeats.length === 0) return { written: [], texts: [], proved: [] };
    const layout = layOut(entries);
    const row = await this.#run([...valuesOf(entries, layout), ...valuesOfRepeats(repeats)]);
    const [written, counts, ledgers, numbers, proved] = row as [
      string,
      string,
      string | null,
      string | null,
      string,
    ];
    const known = ledgers === null ? NONE_KNOWN : numbersAfter(layout, ledgers, numbers!);
    return {
      written: booleansOf(written),
      texts: textsOf(entries, counts, known),
      proved: booleansOf(proved),
    };
  }

  async #run(values: readonly unknown[]): Promise<readonly unknown[]> {
    const { call, carefulMs } = this.#options;
    const run = (careful: boolean) => call(WRITE, [...values, careful]);
    if (performance.now() < this.#carefulUntil) return run(true);
    const row = await run(false).catch((error: unknown) => {
      if (sqlStateOf(error) !== LOCK_NOT_AVAILABLE) throw error;
      this.#carefulUntil = performance.now() + carefulMs;
      return [null];
    });
    return row[0] === null ? run(true) : row;
  }
}

const NONE_KNOWN: ReadonlyMap<string, number> = new Map();

/** Of each instance whose limits were counted: how many texts it has sent to contacts, those of the group with them. */
function numbersAfter({ ledgers }: Layout, ids: string, numbers: string): Map<string, number> {
  const texts = new Map(ledgers.map((ledger) => [ledger.id, ledger.texts]));
  const before = elementsOf(numbers);
  return new Map(elementsOf(ids).map((id, place) => [id, Number(before[place]) + texts.get(id)!]));
}

/** Contacts added by the group: as many as its own ranks say, at most. */
function textsOf(
  entries: readonly Entry[],
  counts: string,
  numbers: ReadonlyMap<string, number>,
): (TextCount | null)[] {
  const found = elementsOf(counts);
  return entries.map(({ request, plan }, index) => {
    const number = numbers.get(request.instanceId);
    if (found[index] === 'NULL' || number === undefined) return null;
    return { count: Number(found[index]) + plan.mass!.room!.rank, number };
  });
}

const booleansOf = (literal: string) => elementsOf(literal).map((value) => value === 't');

const elementsOf = (literal: string) => (literal === '{}' ? [] : literal.slice(1, -1).split(','));

function valuesOfRepeats(repeats: readonly Repeat[]): unknown[] {
  return [
    plainArray(repeats, ({ request }) => request.accountId),
    plainArray(repeats, ({ accountVersion }) => accountVersion),
    plainArray(repeats, ({ request }) => request.recordId),
    bytesArray(repeats, ({ request }) => request.bodyHash),
    plainArray(repeats, ({ messageId }) => messageId),
  ];
}

function valuesOf(entries: readonly Entry[], layout: Layout): unknown[] {
  const { instances, accounts, ledgers, chats } = layout;
  const plain = (pick: (entry: Entry) => string | number | boolean | null) => plainArray(entries, pick);
  const text = (pick: (entry: Entry) => string | null) => textArray(entries, pick);
  const bytes = (pick: (entry: Entry) => Buffer | null) => bytesArray(entries, pick);
  return [
    literal(entries.map((_, index) => index + 1)),
    plain(({ messageId }) => messageId),
    plain(({ request }) => request.instanceId),
    literal(instances.places),
    literal(instances.ids),
    literal(instances.versions),
    literal(accounts.places),
    literal(accounts.ids),
    literal(accounts.versions),
    plain(({ plan }) => plan.conversationId),
    plain(({ plan }) => plan.makesConversation),
    plain(({ plan }) => plan.contactId),
    plain(({ plan }) => plan.makesContact),
    text(({ request }) => request.recipient.name),
    plain(({ plan }) => plan.counted),
    plain(({ plan }) => plan.lastWroteAt),
    text(({ to }) => to),
    plain(({ type }) => type),
    plain(({ waMessageId }) => waMessageId),
    bytes(({ contentSealed }) => contentSealed),
    plain(({ createdAt }) => createdAt),
    plain(outMsAtAcceptance),
    plain(({ plan }) => plan.releaseAt?.toISOString() ?? null),
    plain(({ request }) => request.recordId),
    bytes(({ request }) => request.bodyHash),
    bytes(({ responseSealed }) => responseSealed),
    plain(({ plan }) => plan.newContact?.limit ?? null),
    plain(({ plan }) => plan.newContact?.rank ?? null),
    plain(({ request, plan }) => plan.mass && request.fingerprint),
    plain(({ plan }) => plan.mass?.room?.limit ?? null),
    plain(({ plan }) => plan.mass?.room?.rank ?? null),
    plain(({ plan }) => plan.mass?.minutes ?? null),
    plain((entry) => entry.text?.count ?? null),
    plain((entry) => entry.text?.number ?? null),
    literal(entries.filter(({ prepared }) => !prepared).map(({ messageId }) => messageId)),
    literal(ledgers.map(({ id }) => id)),
    literal(layout.conversations),
    literal(layout.contacts),
    literal(layout.ranks),
    literal(chats.map(({ id }) => id)),
    literal(chats.map(({ first }) => first)),
    literal(chats.map(({ amount }) => amount)),
    literal(chats.map(({ number }) => number)),
    literal(ledgers.map(({ news }) => news)),
    literal(ledgers.map(({ texts }) => texts)),
    literal(daysOf(entries)),
    countDistinct(entries, ({ plan }) => (plan.makesContact ? plan.contactId : null)),
    countDistinct(entries, ({ plan }) => (plan.makesConversation ? plan.conversationId : null)),
    countDistinct(entries, ({ request }) => request.recordId),
  ];
}

/** Of ids and numbers: nothing in them is to be quoted. */
const literal = (values: readonly (string | number)[]) => `{${values.join(',')}}`;

/** Of ids, by which messages are in partitions: not of the time of Postgres. */
const daysOf = (entries: readonly Entry[]): number[] =>
  [...new Set(entries.map(({ createdAt }) => Math.floor(createdAt / DAY_MS)))].sort((a, b) => a - b);

/** A message may wait its whole time from its acceptance on, however long the look at its instance took before. */
function outMsAtAcceptance({ plan, createdAt }: Entry): number {
  return plan.offlineMs + (plan.outSince === null ? 0 : Math.max(0, Math.round(createdAt - plan.outSince)));
}

function countDistinct(entries: readonly Entry[], pick: (entry: Entry) => string | null): number {
  const found = new Set(entries.map(pick));
  found.delete(null);
  return found.size;
}
