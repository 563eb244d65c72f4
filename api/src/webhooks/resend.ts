import { lowestUuidAt } from '@gwk/core/ids/ids';
import type { RetryFailed } from '../resources/webhook.js';
import { listRestriction, type Caller } from '../accounts/caller.js';
import type { Database, Queryable } from '../database/database.js';
import { findEndpoint } from './endpoints.js';

/** Deliveries that one statement queues. */
export const RESEND_BATCH = 1_000;

/**
 * Queues all failed deliveries of a period again. The first batch is queued at once. The rest is a stored job, which the
 * worker continues in batches, so that no transaction is long and no list is held in memory.
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
    const visible = listRestriction(caller);
    const { since, until } = await resolvePeriod(tx, body);
    const afterId = lowestUuidAt(since.getTime());
    const [failed] = await tx.$queryRaw<[{ amount: number }]>`
      SELECT count(*)::integer AS amount FROM gwk_failed_deliveries(${endpointId}::uuid, ${afterId}::uuid,
        ${since.toISOString()}::timestamptz, ${until.toISOString()}::timestamptz, ${visible}::uuid[])`;
    if (failed.amount === 0) return 0;
    const period = { endpointId, afterId, since, until };
    const job = { id: jobId, ...period, restricted: visible !== null, instanceIds: visible ?? [] };
    await tx.webhookResend.createMany({ data: [job], skipDuplicates: true });
    await tx.$queryRaw`SELECT gwk_continue_resend(${jobId}::uuid, ${RESEND_BATCH}::integer)`;
    return failed.amount;
  });
}

/** Ends the period at the time of the request, and bounds both times to those that Postgres can store. */
async function resolvePeriod(tx: Queryable, { since, until }: RetryFailed) {
  const [row] = await tx.$queryRaw<[{ now: Date }]>`SELECT now()`;
  const now = row.now.getTime();
  const to = Math.max(0, Math.min(now, until ? Date.parse(until) : now));
  return { since: new Date(Math.max(0, Date.parse(since))), until: new Date(to) };
}
