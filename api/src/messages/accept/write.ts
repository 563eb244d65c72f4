import type { Queryable } from '../../database.js';
import type { Plan, Request } from './decide.js';
import { sqlStateOf } from '../../internal/grouping.js';
import { hexArray, plainArray, textArray } from './array-literals.js';
import { SEND_ROUTE } from './gather.js';

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
  /** The answer. */
  body: string;
  /** Null where there is no key to replay it by, or the answer can be made again from the message. */
  responseSealed: Buffer | null;
}

const TYPES = [
  ...['uuid[]', 'uuid[]', 'text[]', 'uuid[]', 'text[]'],
  ...['uuid[]', 'boolean[]', 'uuid[]', 'boolean[]', 'text[]', 'boolean[]', 'double precision[]'],
  ...['text[]', 'text[]', 'text[]', 'text[]', 'double precision[]', 'bigint[]', 'timestamptz[]'],
  ...['text', 'text[]', 'text[]', 'text[]'],
  ...['integer[]', 'integer[]', 'text[]', 'integer[]', 'integer[]', 'integer[]', 'uuid[]'],
  ...['integer', 'integer', 'integer', 'boolean', 'integer[]'],
];
const WRITE = `SELECT gwk_accept_write(${TYPES.map((type, i) => `$${i + 1}::${type}`).join(', ')}) AS written`;

const LOCK_NOT_AVAILABLE = '55P03';

/** A request believed to repeat one that was written. */
export interface Repeat {
  request: Request;
  messageId: string;
  accountVersion: string;
}

const REPEAT_TYPES = ['uuid[]', 'text[]', 'text', 'text[]', 'text[]', 'uuid[]'];
const prove = (first: number) =>
  `gwk_accept_prove(${REPEAT_TYPES.map((type, i) => `$${first + i}::${type}`).join(', ')}) AS proved`;
const PROVE = `SELECT ${prove(1)}`;
const WRITE_AND_PROVE = `${WRITE}, ${prove(TYPES.length + 1)}`;

/** For each, whether it is what it was decided to be; false: the world had moved since it was seen. */
interface Outcome {
  written: readonly boolean[];
  proved: readonly boolean[];
}

/**
 * Writes a group in one transaction. Where somebody holds the contact of one for long, it is written without that one.
 * What is believed to be a repeat is looked up beside it: the proof costs a look at an index, not a statement.
 */
export async function writeAndProve(
  database: Queryable,
  entries: readonly Entry[],
  repeats: readonly Repeat[],
): Promise<Outcome> {
  if (entries.length === 0 && repeats.length === 0) return { written: [], proved: [] };
  const run = async (leaveHeld: boolean): Promise<Outcome> => {
    const [text, values] = statementOf(entries, repeats, leaveHeld);
    const rows = await database.$queryRawUnsafe<Partial<Outcome>[]>(text, ...values);
    return { written: [], proved: [], ...rows[0] };
  };
  try {
    return await run(false);
  } catch (error) {
    if (sqlStateOf(error) !== LOCK_NOT_AVAILABLE) throw error;
    return run(true);
  }
}

function statementOf(
  entries: readonly Entry[],
  repeats: readonly Repeat[],
  leaveHeld: boolean,
): [text: string, values: unknown[]] {
  if (entries.length === 0) return [PROVE, valuesOfRepeats(repeats)];
  const values = valuesOf(entries, leaveHeld);
  if (repeats.length === 0) return [WRITE, values];
  return [WRITE_AND_PROVE, [...values, ...valuesOfRepeats(repeats)]];
}

function valuesOfRepeats(repeats: readonly Repeat[]): unknown[] {
  return [
    plainArray(repeats, ({ request }) => request.accountId),
    plainArray(repeats, ({ accountVersion }) => accountVersion),
    SEND_ROUTE,
    textArray(repeats, ({ request }) => request.key),
    hexArray(repeats, ({ request }) => request.bodyHash),
    plainArray(repeats, ({ messageId }) => messageId),
  ];
}

function valuesOf(entries: readonly Entry[], leaveHeld: boolean): unknown[] {
  const plain = (pick: (entry: Entry) => string | number | boolean | null) => plainArray(entries, pick);
  const text = (pick: (entry: Entry) => string | null) => textArray(entries, pick);
  const hex = (pick: (entry: Entry) => Buffer | null) => hexArray(entries, pick);
  return [
    plain(({ messageId }) => messageId),
    plain(({ request }) => request.accountId),
    plain(({ plan }) => plan.accountVersion),
    plain(({ request }) => request.instanceId),
    plain(({ plan }) => plan.instanceVersion),
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
    hex(({ contentSealed }) => contentSealed),
    plain(({ createdAt }) => createdAt),
    plain(outMsAtAcceptance),
    plain(({ plan }) => plan.releaseAt?.toISOString() ?? null),
    SEND_ROUTE,
    text(({ request }) => request.key),
    hex(({ request }) => request.bodyHash),
    hex(({ responseSealed }) => responseSealed),
    plain(({ plan }) => plan.newContact?.limit ?? null),
    plain(({ plan }) => plan.newContact?.rank ?? null),
    hex(({ request, plan }) => plan.mass && request.fingerprint),
    plain(({ plan }) => plan.mass?.room?.limit ?? null),
    plain(({ plan }) => plan.mass?.room?.rank ?? null),
    plain(({ plan }) => plan.mass?.minutes ?? null),
    plainArray(
      entries.filter(({ prepared }) => !prepared),
      ({ messageId }) => messageId,
    ),
    countDistinct(entries, ({ plan }) => (plan.makesContact ? plan.contactId : null)),
    countDistinct(entries, ({ plan }) => (plan.makesConversation ? plan.conversationId : null)),
    countDistinct(entries, ({ request }) => request.key && `${request.accountId} ${request.key}`),
    leaveHeld,
    `{${ranksOf(entries).join(',')}}`,
  ];
}

/** Scheduled ones take no place yet. */
function ranksOf(entries: readonly Entry[]): number[] {
  const taken = new Map<string, number>();
  return entries.map(({ plan: { conversationId, releaseAt } }) => {
    const rank = (taken.get(conversationId) ?? 0) + (releaseAt === null ? 1 : 0);
    taken.set(conversationId, rank);
    return rank;
  });
}

/** A message may wait its whole time from its acceptance on, however long the look at its instance took before. */
function outMsAtAcceptance({ plan, createdAt }: Entry): number {
  return plan.outMs + (plan.outSince === null ? 0 : Math.max(0, Math.round(createdAt - plan.outSince)));
}

function countDistinct(entries: readonly Entry[], pick: (entry: Entry) => string | null): number {
  const found = new Set(entries.map(pick));
  found.delete(null);
  return found.size;
}
