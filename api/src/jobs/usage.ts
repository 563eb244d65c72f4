import { lowestUuidAt, parseUuidTime } from '@gwk/core/ids/ids';
import type { AccountLimits } from '../accounts/usage.js';
import type { Queryable } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';
import { NOTHING, type Job, type JobResult } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

const EVERY_MS = 600_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Event ids are older than their commits. A transaction takes at most a minute. */
const LAG_MS = 300_000;
const TASK = 'count events';
const ACCOUNTS = 100;
const TRANSACTION = { timeout: 60_000 };

type Deps = Pick<JobDependencies, 'db' | 'log'>;

/** A limit of an account that is nearly reached. */
export interface FullAccount {
  account: string;
  resource: 'media_bytes' | 'media_files' | 'event_bytes';
  ratio: number;
}

const SHOWN_FROM = 0.8;
const MAX_SHOWN = 20;

/** Reads the fullest accounts, for the metric: a series for each account of a large gateway would be too many. */
export async function readFullAccounts(db: Queryable, limits: AccountLimits): Promise<FullAccount[]> {
  return db.$queryRaw<FullAccount[]>`
    SELECT a.name AS account, l.resource, l.used::float8 / greatest(l.limit, 1) AS ratio
    FROM account_usage u
    JOIN accounts a ON a.id = u.account_id
    CROSS JOIN LATERAL (VALUES
      ('media_bytes', u.media_bytes, coalesce(a.max_media_bytes, ${limits.accountMediaBytes}::bigint)),
      ('media_files', u.media_files, coalesce(a.max_media_files, ${limits.accountMediaFiles}::bigint)),
      ('event_bytes', u.event_bytes, coalesce(a.max_event_bytes, ${limits.accountEventBytes}::bigint))
    ) AS l (resource, used, "limit")
    WHERE l.used >= ${SHOWN_FROM}::float8 * l.limit AND l.used > 0
    ORDER BY ratio DESC, a.name LIMIT ${MAX_SHOWN}::integer`;
}

/** The next interval to count: at most an hour, within one day (UTC). Null: nothing to count yet. */
export function nextInterval(from: number, now: number): { from: number; until: number } | null {
  const midnight = (Math.floor(from / DAY_MS) + 1) * DAY_MS;
  const until = Math.min(from + HOUR_MS, midnight, now - LAG_MS);
  return until > from ? { from, until } : null;
}

/**
 * Keeps the usage of accounts: counts new events and cards for quotes once, drops the counts of expired days, and counts the files of each account
 * again once a day. No transaction of a message counts, so busy accounts do not wait for a counter.
 */
export function usageJob({ db, log }: Deps, { eventDays }: { eventDays: number }): Job {
  return {
    name: 'usage',
    everyMs: EVERY_MS,
    async pass() {
      const counted = await db.$transaction(countInterval, TRANSACTION);
      if (counted.more) return counted;
      await sumEvents({ db }, eventDays);
      return recountFiles({ db, log });
    },
  };
}

/**
 * Counts one interval of events and cards. A card is stored with its received message, or when its sent message is built; the
 * cards of messages that wait longer than the lag are not counted. One worker at a time: the row of the task is locked.
 */
async function countInterval(tx: Prisma.TransactionClient): Promise<JobResult> {
  if (!(await tx.maintenanceTask.findUnique({ where: { task: TASK } }))) {
    const first = await tx.event.findFirst({ orderBy: { id: 'asc' }, select: { id: true } });
    const doneAt = first ? new Date(parseUuidTime(first.id)) : new Date();
    await tx.maintenanceTask.createMany({ data: { task: TASK, doneAt }, skipDuplicates: true });
  }
  const [task] = await tx.$queryRaw<{ from: Date; now: Date }[]>`
    SELECT done_at::timestamptz AS "from", now() FROM maintenance_tasks WHERE task = ${TASK} FOR UPDATE SKIP LOCKED`;
  const interval = task ? nextInterval(task.from.getTime(), task.now.getTime()) : null;
  if (interval === null) return NOTHING;
  const [low, high] = [lowestUuidAt(interval.from), lowestUuidAt(interval.until)];
  const amount = await tx.$executeRaw`
    INSERT INTO account_event_days AS d (account_id, day, events, bytes)
    SELECT u.account_id, ${new Date(interval.from)}::timestamptz AT TIME ZONE 'UTC', sum(u.events), sum(u.bytes)
    FROM (
      SELECT e.account_id, count(*) AS events, sum(pg_column_size(e.data_sealed)) AS bytes FROM events e
      WHERE e.id >= ${low}::uuid AND e.id < ${high}::uuid GROUP BY e.account_id
      UNION ALL
      SELECT i.account_id, 0, sum(pg_column_size(c.card_sealed))
      FROM message_cards c JOIN instances i ON i.id = c.instance_id
      WHERE c.message_id >= ${low}::uuid AND c.message_id < ${high}::uuid GROUP BY i.account_id
    ) AS u JOIN accounts a ON a.id = u.account_id
    GROUP BY u.account_id
    ON CONFLICT (account_id, day) DO UPDATE
    SET events = d.events + excluded.events, bytes = d.bytes + excluded.bytes`;
  await tx.maintenanceTask.update({ where: { task: TASK }, data: { doneAt: new Date(interval.until) } });
  return { amount, more: nextInterval(interval.until, task!.now.getTime()) !== null };
}

async function sumEvents({ db }: Pick<Deps, 'db'>, eventDays: number): Promise<void> {
  await db.$executeRaw`
    DELETE FROM account_event_days WHERE day < (now() AT TIME ZONE 'UTC')::date - ${eventDays}::integer`;
  await db.$executeRaw`
    INSERT INTO account_usage AS u (account_id, events, event_bytes)
    SELECT a.id, coalesce(sum(d.events), 0), coalesce(sum(d.bytes), 0)
    FROM accounts a LEFT JOIN account_event_days d ON d.account_id = a.id GROUP BY a.id ORDER BY a.id
    ON CONFLICT (account_id) DO UPDATE SET events = excluded.events, event_bytes = excluded.event_bytes
    WHERE (u.events, u.event_bytes) IS DISTINCT FROM (excluded.events, excluded.event_bytes)`;
}

/** Repairs counters of files, for example after rows were changed by hand. */
async function recountFiles({ db, log }: Deps): Promise<JobResult> {
  const accounts = await db.accountUsage.findMany({
    where: { recountedAt: { lt: new Date(Date.now() - DAY_MS) } },
    select: { accountId: true },
    orderBy: { recountedAt: 'asc' },
    take: ACCOUNTS,
  });
  for (const { accountId } of accounts) {
    const [row] = await db.$queryRaw<
      { wrong: boolean }[]
    >`SELECT gwk_recount_media(${accountId}::uuid) AS wrong`;
    if (row!.wrong) log.warn({ account: accountId }, 'stored files were counted wrong; corrected');
  }
  return { amount: accounts.length, more: accounts.length === ACCOUNTS };
}
