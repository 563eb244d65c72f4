import type { Queryable } from '../../database.js';
import type { Plan, Request } from './decide.js';
import { byteaText, SEND_ROUTE } from './gather.js';

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
  /** Null where there is no key to replay it by. */
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
  const of = <T>(pick: (entry: Entry) => T): T[] => entries.map(pick);
  const rows = await database.$queryRawUnsafe<{ written: boolean[] }[]>(
    WRITE,
    of(({ messageId }) => messageId),
    of(({ request }) => request.accountId),
    of(({ request }) => request.instanceId),
    of(({ plan }) => plan.conversationId),
    of(({ plan }) => plan.makesConversation),
    of(({ plan }) => plan.contactId),
    of(({ plan }) => plan.makesContact),
    of(({ request }) => request.recipient.name),
    of(({ to }) => to),
    of(({ type }) => type),
    of(({ waMessageId }) => waMessageId),
    of(({ contentSealed }) => byteaText(contentSealed)),
    of(({ createdAt }) => createdAt),
    of(({ plan }) => plan.outMs),
    of(({ plan }) => plan.releaseAt?.toISOString() ?? null),
    of(({ request }) => request.key),
    of(({ request }) => nullable(request.bodyHash)),
    of(({ responseSealed }) => nullable(responseSealed)),
    of(({ plan }) => plan.newContact?.limit ?? null),
    of(({ plan }) => plan.newContact?.rank ?? null),
    of(({ request, plan }) => nullable(plan.mass && request.fingerprint)),
    of(({ plan }) => plan.mass?.room?.limit ?? null),
    of(({ plan }) => plan.mass?.room?.rank ?? null),
    of(({ plan }) => plan.mass?.minutes ?? null),
  );
  return rows[0]!.written;
}

const nullable = (bytes: Buffer | null): string | null => bytes && byteaText(bytes);
