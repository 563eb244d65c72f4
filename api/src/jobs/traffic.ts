import { lowestUuidAt } from '@gwk/core/ids/ids';
import { TRAFFIC_DAYS, TRAFFIC_TASK } from '../console/traffic.js';
import type { Prisma } from '../generated/prisma/client.js';
import { NOTHING, type Job, type JobResult } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

const EVERY_MS = 600_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The API counts younger messages itself: most receipts arrive within this time. */
const LAG_MS = HOUR_MS;
const TRANSACTION = { timeout: 60_000 };

/**
 * The next hours to count: first those that were never counted, a day at most; then the last 24 hours again, because
 * messages are sent and read after their acceptance. Null: no hour has ended since.
 * @param done end of the counted hours; null: none
 */
export function nextHours(done: number | null, now: number): { from: number; until: number } | null {
  const end = Math.floor((now - LAG_MS) / HOUR_MS) * HOUR_MS;
  const from = Math.max(done ?? 0, end - TRAFFIC_DAYS * DAY_MS);
  if (from >= end) return null;
  const until = Math.min(from + DAY_MS, end);
  return { from: Math.min(from, until - DAY_MS), until };
}

/** Counts messages and webhook deliveries of accounts by hour, so that the console does not. No transaction of a message counts. */
export const trafficJob = ({ db }: Pick<JobDependencies, 'db'>): Job => ({
  name: 'traffic',
  everyMs: EVERY_MS,
  pass: () => db.$transaction(countHours, TRANSACTION),
});

/** One worker at a time: the row of the task is locked. */
async function countHours(tx: Prisma.TransactionClient): Promise<JobResult> {
  await tx.maintenanceTask.createMany({
    data: { task: TRAFFIC_TASK, doneAt: new Date(0) },
    skipDuplicates: true,
  });
  const [task] = await tx.$queryRaw<{ done: Date; now: Date }[]>`
    SELECT done_at::timestamptz AS done, now() FROM maintenance_tasks WHERE task = ${TRAFFIC_TASK}
    FOR UPDATE SKIP LOCKED`;
  const now = task?.now.getTime() ?? 0;
  const hours = task ? nextHours(task.done.getTime(), now) : null;
  if (hours === null) return NOTHING;
  const { from, until } = hours;
  const [counted] = await tx.$queryRaw<[{ amount: number }]>`
    SELECT gwk_count_traffic(${lowestUuidAt(from)}::uuid, ${lowestUuidAt(until)}::uuid) AS amount`;
  await tx.accountTrafficHour.deleteMany({
    where: { start: { lt: new Date(now - (TRAFFIC_DAYS + 1) * DAY_MS) } },
  });
  await tx.maintenanceTask.update({ where: { task: TRAFFIC_TASK }, data: { doneAt: new Date(until) } });
  return { amount: counted.amount, more: nextHours(until, now) !== null };
}
