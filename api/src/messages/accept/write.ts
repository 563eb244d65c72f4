import type { Queryable } from '../../database.js';
import type { Plan, Request } from './decide.js';
import { bytesArray, plainArray, textArray } from './array-literals.js';
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
  waMessageId: string;
  contentSealed: Buffer;
  /** The answer. */
  body: string;
  /** Null where there is no key to replay it by, or the answer can be made again from the message. */
  responseSealed: Buffer | null;
}

const WRITE = `
  SELECT gwk_accept_write($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::boolean[], $6::uuid[], $7::boolean[],
    $8::text[], $9::text[], $10::text[], $11::text[], $12::bytea[], $13::double precision[], $14::bigint[],
    $15::timestamptz[], '${SEND_ROUTE}', $16::text[], $17::bytea[], $18::bytea[], $19::integer[],
    $20::integer[], $21::bytea[], $22::integer[], $23::integer[], $24::integer[]) AS written`;

/**
 * Writes a group in one transaction.
 * @returns for each entry whether it was written; false: the world had moved since it was gathered
 */
export async function write(database: Queryable, entries: readonly Entry[]): Promise<boolean[]> {
  const plain = (pick: (entry: Entry) => string | number | boolean | null) => plainArray(entries, pick);
  const text = (pick: (entry: Entry) => string | null) => textArray(entries, pick);
  const bytes = (pick: (entry: Entry) => Buffer | null) => bytesArray(entries, pick);
  const rows = await database.$queryRawUnsafe<{ written: boolean[] }[]>(
    WRITE,
    plain(({ messageId }) => messageId),
    plain(({ request }) => request.accountId),
    plain(({ request }) => request.instanceId),
    plain(({ plan }) => plan.conversationId),
    plain(({ plan }) => plan.makesConversation),
    plain(({ plan }) => plan.contactId),
    plain(({ plan }) => plan.makesContact),
    text(({ request }) => request.recipient.name),
    text(({ to }) => to),
    plain(({ type }) => type),
    plain(({ waMessageId }) => waMessageId),
    bytes(({ contentSealed }) => contentSealed),
    plain(({ createdAt }) => createdAt),
    plain(({ plan }) => plan.outMs),
    plain(({ plan }) => plan.releaseAt?.toISOString() ?? null),
    text(({ request }) => request.key),
    bytes(({ request }) => request.bodyHash),
    bytes(({ responseSealed }) => responseSealed),
    plain(({ plan }) => plan.newContact?.limit ?? null),
    plain(({ plan }) => plan.newContact?.rank ?? null),
    bytes(({ request, plan }) => plan.mass && request.fingerprint),
    plain(({ plan }) => plan.mass?.room?.limit ?? null),
    plain(({ plan }) => plan.mass?.room?.rank ?? null),
    plain(({ plan }) => plan.mass?.minutes ?? null),
  );
  return rows[0]!.written;
}
