import { lowestUuidAt } from '@gwk/core/ids';
import type { RetryFailed } from '@gwk/core/resources/webhook';
import { listRestriction, type Caller } from '../accounts/caller.js';
import type { Database, Queryable } from '../database/database.js';
import { Prisma } from '../generated/prisma/client.js';
import { findEndpoint } from './endpoints.js';

/** Deliveries that one statement queues. */
export const RESEND_BATCH = 1_000;

interface Period {
  endpointId: string;
  afterId: string;
  since: Date;
  until: Date;
  /** Deliveries of these instances and of no instance; null: all. */
  visible: string[] | null;
}

/**
 * Queues all failed deliveries of a period again. The first batch is queued at once. The rest is counted, stored as a job
 * and queued by the worker in batches, so that no transaction is long and no list is held in memory.
 * @param jobId id of the stored job: an idempotent retry of the request stores it once
 * @returns the number of deliveries that are sent again
 * @throws Problem `not-found`
 */
export async function retryFailed(
  db: Database,
  caller: Caller,
  { endpointId, jobId, body }: { endpointId: string; jobId: string; body: RetryFailed },
): Promise<number> {
  await findEndpoint(db, caller, endpointId);
  return db.$transaction(async (tx) => {
    const first = { endpointId, visible: listRestriction(caller), ...(await resolvePeriod(tx, body)) };
    const { resent, lastId } = await resendBatch(tx, first);
    if (lastId === null) return 0;
    const rest = { ...first, afterId: lastId };
    const left = await countFailed(tx, rest);
    if (left > 0) await storeJob(tx, jobId, rest);
    return resent + left;
  });
}

/** Ends the period at the time of the request, and bounds both times to those that Postgres can store. */
async function resolvePeriod(
  tx: Queryable,
  { since, until }: RetryFailed,
): Promise<Pick<Period, 'since' | 'until' | 'afterId'>> {
  const [row] = await tx.$queryRaw<{ now: Date }[]>`SELECT now()`;
  const now = row!.now.getTime();
  const from = Math.max(0, Date.parse(since));
  const to = Math.max(0, Math.min(now, until ? Date.parse(until) : now));
  return { since: new Date(from), until: new Date(to), afterId: lowestUuidAt(from) };
}

async function storeJob(tx: Prisma.TransactionClient, id: string, period: Period): Promise<void> {
  const { visible, ...rest } = period;
  const data = { id, ...rest, restricted: visible !== null, instanceIds: visible ?? [] };
  await tx.webhookResend.createMany({ data: [data], skipDuplicates: true });
}

const toArguments = ({ endpointId, afterId, since, until, visible }: Period): Prisma.Sql =>
  Prisma.sql`${endpointId}::uuid, ${afterId}::uuid, ${since.toISOString()}::timestamptz,
    ${until.toISOString()}::timestamptz, ${visible}::uuid[]`;

async function resendBatch(
  db: Queryable,
  period: Period,
): Promise<{ resent: number; lastId: string | null }> {
  const [row] = await db.$queryRaw<{ resent: number; last_id: string | null }[]>`
    SELECT * FROM gwk_resend_failed(${toArguments(period)}, ${RESEND_BATCH}::integer)`;
  return { resent: row!.resent, lastId: row!.last_id };
}

async function countFailed(db: Queryable, period: Period): Promise<number> {
  const [row] = await db.$queryRaw<{ amount: number }[]>`
    SELECT count(*)::integer AS amount FROM gwk_failed_deliveries(${toArguments(period)})`;
  return row!.amount;
}
