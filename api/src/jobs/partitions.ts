import { setTimeout as sleep } from 'node:timers/promises';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import { Prisma } from '../generated/prisma/client.js';
import type { Database } from '../database/database.js';
import { readSqlState } from '../database/grouping.js';
import { NOTHING, type Job, type JobResult } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

/** Retention of whole days, in days. */
export interface DaysKept {
  messageDays: number;
  eventDays: number;
  deliveryDays: number;
}

type PartitionPlan = ReturnType<typeof planPartitions>[number];

const DAY_MS = 86_400_000;
const DAYS_AHEAD = 7;
const GROUP = 1_000;
const EVERY_MS = 3_600_000;
/**
 * Pause between two drops of large partitions, for all workers together. A drop delays concurrent writes while the file
 * system frees the space: about 100 ms for a million rows (docs/decisions/0026-drop-partitions-one-at-a-time.md).
 */
const REST_MS = 10_000;
const SMALL_BYTES = 8_388_608;
const SKIPPED = { max: 10_000, ttlMs: EVERY_MS * 0.9 };
/** Maximum difference between two synchronised clocks. */
const CLOCKS_APART_MS = 60_000;
const LOCK_ATTEMPTS = 5;
const TRANSACTION_MS = 15_000;
/** After this time Postgres ends the transaction of a stalled or disconnected process that holds a table lock. */
const IDLE_MS = 5_000;
const [LOCK_TIMEOUT, UNDEFINED_TABLE, CHECK_VIOLATION] = ['55P03', '42P01', '23514'];

const TIMES = {
  /** Time limit of each lock (table, partition, default partition), and so the longest wait of other transactions. */
  lockTimeoutMs: 100,
  /** Pause after the first attempt; it grows by the same amount with each attempt. */
  lockRetryMs: 200,
  /** Time limit for the lock of a partition in autovacuum, which yields after 1 s unless it prevents wraparound. */
  vacuumTimeoutMs: 3_000,
  /** Minimum time between two drops of large partitions: the pause less the jitter of the loop (10 %). */
  turnMs: REST_MS * 0.9,
};
export type PartitionTimes = typeof TIMES;

export function planPartitions(now: Date, kept: DaysKept) {
  const day = (offset: number): string =>
    new Date(now.getTime() + offset * DAY_MS).toISOString().slice(0, 10);
  // Days (UTC) that need a partition: from yesterday to 7 days ahead.
  const days = Array.from({ length: DAYS_AHEAD + 2 }, (_, index) => day(index - 1));
  const daysOf = {
    messages: kept.messageDays,
    events: kept.eventDays,
    webhook_deliveries: kept.deliveryDays,
  };
  return Object.entries(daysOf).map(([parent, daysKept]) => ({
    parent,
    days,
    /** First day to keep. */
    keepFrom: day(-daysKept),
  }));
}

/** Creates partitions for the coming days and drops expired ones: one large partition per pass. */
export function partitionsJob(
  deps: Deps,
  kept: DaysKept,
  { now = Date.now, times }: { now?: () => number; times?: Partial<PartitionTimes> } = {},
): Job {
  const work: Work = { ...deps, left: new ExpiringMap(SKIPPED), times: { ...TIMES, ...times } };
  const logged = new Map<string, string>();
  const run = async (step: Step, plan: PartitionPlan): Promise<JobResult> => {
    if (work.left.get(plan.parent)) return NOTHING;
    const name = `${step.name} ${plan.parent}`;
    try {
      const result = await step(work, plan);
      logged.delete(name);
      return result;
    } catch (error) {
      if (error instanceof InUse) return leave(work, error);
      const text = String((error as Error).message);
      if (logged.get(name) !== text)
        deps.log.warn({ err: error, table: plan.parent, step: step.name }, 'partition step failed; retrying');
      logged.set(name, text);
      throw error;
    }
  };
  return {
    name: 'partitions',
    everyMs: EVERY_MS,
    restMs: REST_MS,
    async pass() {
      const plans = planPartitions(new Date(now()), kept);
      const result = { ...NOTHING };
      const errors: Error[] = [];
      const steps: Step[] = [makeDays];
      await checkClocks(deps.db, now).then(
        () => steps.push(emptyDefault, dropExpired),
        (error: Error) => errors.push(error),
      );
      // Runs every step even after errors: on a full disk no partition can be created until one is dropped.
      for (const step of steps)
        for (const plan of plans)
          try {
            const { amount, more } = await run(step, plan);
            result.amount += amount;
            result.more ||= more;
          } catch (error) {
            errors.push(error as Error);
          }
      if (errors.length > 0) throw new AggregateError(errors, errors[0]!.message);
      return result;
    },
  };
}

/**
 * Compares the clocks of this worker and of Postgres, because a machine may boot with a clock years ahead and a drop is final.
 * @throws if they differ by more than a minute
 */
async function checkClocks(db: Database, now: () => number): Promise<void> {
  const before = now();
  const [row] = await db.$queryRaw<{ ms: number }[]>`
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms`;
  const apart = Math.max(before - row!.ms, row!.ms - now());
  if (apart > CLOCKS_APART_MS)
    throw new Error(
      `the clocks of this worker and of Postgres differ by ${Math.round(apart / 1_000)} s: no partition is dropped`,
    );
}

type Step = (work: Work, plan: PartitionPlan) => Promise<JobResult>;

type Deps = Pick<JobDependencies, 'db' | 'log'>;

/** `left`: tables and partitions to skip for an hour. */
type Work = Deps & { left: ExpiringMap<true>; times: PartitionTimes };

function leave({ left, log }: Work, { table, message }: InUse): JobResult {
  log.warn({ table }, message);
  left.set(table, true);
  return NOTHING;
}

/** Another transaction holds the table for long. Waiting would block all later transactions, so the work is postponed. */
class InUse extends Error {
  constructor(
    readonly table: string,
    message: string,
  ) {
    super(message);
  }
}

async function makeDays(deps: Work, { parent, days }: PartitionPlan): Promise<JobResult> {
  const missing = await deps.db.$queryRaw<{ day: string }[]>`
    SELECT day FROM unnest(${days}::text[]) AS day
    WHERE NOT EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = ${parent}::regclass AND c.relname = ${parent} || to_char(day::date, '_YYYYMMDD'))`;
  let amount = 0;
  for (const { day } of missing) amount += await makeDay(deps, parent, day);
  return { amount, more: false };
}

/**
 * Rows of a day that are in the default partition already (no worker ran for a week) stay there; later days get their own
 * partitions.
 */
async function makeDay(work: Work, parent: string, day: string): Promise<number> {
  try {
    return await underLock(work, parent, async (tx) => {
      const [row] = await tx.$queryRaw<{ amount: number }[]>`
        SELECT gwk_ensure_partitions(${parent}, ${day}::date, ${day}::date) AS amount`;
      return row!.amount;
    });
  } catch (error) {
    if (readSqlState(error) !== CHECK_VIOLATION) throw error;
    work.log.warn({ table: parent, day }, 'rows of this day are in the default partition');
    return 0;
  }
}

/** Deletes expired rows of the default partition. */
async function emptyDefault({ db }: Work, { parent, keepFrom }: PartitionPlan): Promise<JobResult> {
  const table = Prisma.raw(`${parent}_default`);
  const statement = Prisma.sql`DELETE FROM ${table} WHERE id IN (
    SELECT id FROM ${table} WHERE id < gwk_lowest_id(${keepFrom}::date::timestamp AT TIME ZONE 'UTC')
    LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`;
  while ((await db.$executeRaw(statement)) === GROUP);
  return NOTHING;
}

/** Drops small partitions, and one large one if the pause is over. Skips partitions in use. */
async function dropExpired(work: Work, { parent, keepFrom }: PartitionPlan): Promise<JobResult> {
  for (let amount = 0; ;) {
    const all = await work.db.$queryRaw<{ name: string }[]>`
      SELECT name FROM gwk_expired_partitions(${parent}, ${keepFrom}::date) AS name`;
    const expired = all.find(({ name }) => !work.left.get(name));
    if (expired === undefined) return { amount, more: false };
    try {
      const outcome = await dropPartition(work, parent, expired.name);
      if (outcome === 'small' || outcome === 'large') amount++;
      if (outcome !== 'small') return { amount, more: true };
    } catch (error) {
      if (!(error instanceof InUse)) throw error;
      leave(work, error);
      if (error.table === parent) return { amount, more: false };
    }
  }
}

/** Size of the dropped partition, or the reason for none: another worker dropped it, or the pause is not over. */
type Outcome = 'small' | 'large' | 'missing' | 'deferred';

async function dropPartition(work: Work, parent: string, name: string): Promise<Outcome> {
  try {
    return await underLock(
      work,
      parent,
      async (tx) => {
        const [row] = await tx.$queryRaw<{ outcome: Outcome }[]>`
          SELECT gwk_drop_partition(${name}, ${SMALL_BYTES}::bigint, ${work.times.turnMs}::integer) AS outcome`;
        return row!.outcome;
      },
      (tx) => lockPartition(tx, name, work.times),
    );
  } catch (error) {
    if (readSqlState(error) === UNDEFINED_TABLE && String(error).includes(name.split('.').at(-1)!))
      return 'missing';
    throw error;
  }
}

/**
 * Blocks vacuum on a partition until the transaction ends, and cancels a running autovacuum. The drop would otherwise wait for
 * it while its own lock blocks all readers. This lock blocks neither readers nor writers.
 */
async function lockPartition(
  tx: Transaction,
  partition: string,
  { vacuumTimeoutMs }: PartitionTimes,
): Promise<void> {
  await setLockTimeout(tx, vacuumTimeoutMs);
  try {
    await tx.$executeRaw`LOCK TABLE ONLY ${Prisma.raw(partition)} IN SHARE UPDATE EXCLUSIVE MODE`;
  } catch (error) {
    throw readSqlState(error) === LOCK_TIMEOUT
      ? new InUse(partition, 'partition in use; dropping it later')
      : error;
  }
}

type Transaction = Prisma.TransactionClient;

/**
 * Runs a change of a partitioned table, one worker at a time. While it waits for the lock, all later transactions wait
 * behind it, so its time limit is short. It gives up behind a long reader such as a backup.
 *
 * @throws InUse
 */
async function underLock<T>(
  { db, times: { lockTimeoutMs, lockRetryMs } }: Work,
  table: string,
  work: (tx: Transaction) => Promise<T>,
  prepare?: (tx: Transaction) => Promise<void>,
): Promise<T> {
  for (let attempt = 1; attempt <= LOCK_ATTEMPTS; attempt++) {
    try {
      return await db.$transaction(
        async (tx) => {
          await tx.$executeRaw(Prisma.raw(`SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`));
          await prepare?.(tx);
          await setLockTimeout(tx, lockTimeoutMs);
          await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtext('gwk partitions'))::text`;
          return await work(tx);
        },
        { timeout: TRANSACTION_MS },
      );
    } catch (error) {
      if (readSqlState(error) !== LOCK_TIMEOUT) throw error;
      if (attempt < LOCK_ATTEMPTS) await sleep(lockRetryMs * attempt);
    }
  }
  throw new InUse(table, 'table in use; changing its partitions later');
}

const setLockTimeout = (tx: Transaction, ms: number) =>
  tx.$executeRaw(Prisma.raw(`SET LOCAL lock_timeout = ${ms}`));
