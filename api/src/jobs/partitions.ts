import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/database.js';
import { NOTHING, type Job, type JobResult } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

/** How long whole days of rows are kept (design: Retention). */
export interface DaysKept {
  messageDays: number;
  eventDays: number;
  deliveryDays: number;
}

export interface PartitionPlan {
  parent: string;
  /** Days (UTC) that need a partition: yesterday until a week ahead. */
  days: string[];
  /** Partitions of earlier days are dropped. */
  keepFrom: string;
}

const DAY_MS = 86_400_000;
const DAYS_AHEAD = 7;
const GROUP = 1_000;
const EVERY_MS = 3_600_000;
/**
 * One partition in so long, by whichever worker, unless it is small: what a drop gives back to the disk holds up what is
 * written meanwhile, for some 100 ms where there were a million rows.
 */
const REST_MS = 10_000;
const SMALL_BYTES = 8_388_608;
const LEFT_ALONE_MS = EVERY_MS * 0.9;
/** A machine that keeps its time is never so far from another. */
const CLOCKS_APART_MS = 60_000;
const LOCK_ATTEMPTS = 5;
const TRANSACTION_MS = 15_000;
/** Postgres ends the transaction of a process that stands still, or is cut off, while it holds a table. */
const IDLE_MS = 5_000;

export interface PartitionTimes {
  /** For so long at most others wait for each lock (a table, a partition, the default one) of a change of partitions. */
  lockTimeoutMs: number;
  /** After the first attempt; after each further one so much longer. */
  lockRetryMs: number;
  /** Autovacuum gives way after a second, unless it must not (wraparound). */
  patienceMs: number;
  /** Between two drops of large partitions. A loop comes a tenth earlier or later than it is told. */
  turnMs: number;
}

const TIMES: PartitionTimes = {
  lockTimeoutMs: 100,
  lockRetryMs: 200,
  patienceMs: 3_000,
  turnMs: REST_MS * 0.9,
};

export interface PartitionOptions {
  now?: () => number;
  times?: Partial<PartitionTimes>;
}

export function planPartitions(now: Date, kept: DaysKept): PartitionPlan[] {
  const day = (offset: number): string =>
    new Date(now.getTime() + offset * DAY_MS).toISOString().slice(0, 10);
  const days = Array.from({ length: DAYS_AHEAD + 2 }, (_, index) => day(index - 1));
  const daysOf = {
    messages: kept.messageDays,
    events: kept.eventDays,
    webhook_deliveries: kept.deliveryDays,
  };
  return Object.entries(daysOf).map(([parent, daysKept]) => ({ parent, days, keepFrom: day(-daysKept) }));
}

/** Partitions of the days to come, and an end to those of the days gone by: a large one, and then a rest. */
export function partitionsJob(
  deps: Deps,
  kept: DaysKept,
  { now = Date.now, times }: PartitionOptions = {},
): Job {
  const work: Work = { ...deps, left: new LeftAlone(), times: { ...TIMES, ...times } };
  const told = new Map<string, string>();
  const see = async (step: Step, plan: PartitionPlan): Promise<JobResult> => {
    if (work.left.has(plan.parent)) return NOTHING;
    const name = `${step.name} ${plan.parent}`;
    try {
      const result = await step(work, plan);
      told.delete(name);
      return result;
    } catch (error) {
      if (error instanceof InUse) return leave(work, error);
      const text = String((error as Error).message);
      if (told.get(name) !== text)
        deps.log.warn({ err: error, table: plan.parent, step: step.name }, 'failed, and is tried again');
      told.set(name, text);
      throw error;
    }
  };
  return {
    name: 'partitions',
    everyMs: EVERY_MS,
    restMs: REST_MS,
    async pass() {
      const plans = planPartitions(new Date(now()), kept);
      const result: JobResult[] = [];
      const errors: Error[] = [];
      const agree = await clocksAgree(deps.db, now).then(
        () => true,
        (error: Error) => (errors.push(error), false),
      );
      // Each is tried whatever became of the others: on a full disk no day can be made until one is dropped.
      for (const step of agree ? [makeDays, emptyDefault, dropExpired] : [makeDays])
        for (const plan of plans)
          await see(step, plan).then(
            (done) => result.push(done),
            (error: Error) => errors.push(error),
          );
      if (errors.length > 0) throw new AggregateError(errors, errors[0]!.message);
      return {
        amount: result.reduce((sum, { amount }) => sum + amount, 0),
        more: result.some(({ more }) => more),
      };
    },
  };
}

/**
 * Days end for good, and a machine may start years ahead: two clocks have to say that their time is over.
 * @throws where they differ
 */
async function clocksAgree(db: Database, now: () => number): Promise<void> {
  const before = now();
  const [row] = await db.$queryRaw<{ ms: number }[]>`
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms`;
  const apart = Math.max(before - row!.ms, row!.ms - now());
  if (apart > CLOCKS_APART_MS)
    throw new Error(
      `the clocks of this worker and of Postgres differ by ${Math.round(apart / 1_000)} s: no day is ended`,
    );
}

type Step = (work: Work, plan: PartitionPlan) => Promise<JobResult>;

type Deps = Pick<JobDependencies, 'db' | 'log'>;

type Work = Deps & { left: LeftAlone; times: PartitionTimes };

/** The tables and partitions that are not looked at for the hour. */
class LeftAlone {
  readonly #until = new Map<string, number>();

  add(name: string): void {
    this.#until.set(name, performance.now() + LEFT_ALONE_MS);
  }

  has(name: string): boolean {
    return (this.#until.get(name) ?? 0) > performance.now();
  }

  names(): string[] {
    for (const name of this.#until.keys()) if (!this.has(name)) this.#until.delete(name);
    return [...this.#until.keys()];
  }
}

function leave({ left, log }: Work, { table, message }: InUse): JobResult {
  log.warn({ table }, message);
  left.add(table);
  return NOTHING;
}

/** Others work with it for long: nothing is lost by seeing to it later, and much is held up by waiting for it. */
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
      WHERE i.inhparent = ${parent}::regclass AND c.relname = gwk_partition_name(${parent}, day::date))`;
  let amount = 0;
  for (const { day } of missing) amount += await makeDay(deps, parent, day);
  return { amount, more: false };
}

/**
 * A day that has rows in the default partition already (no worker ran for a week) keeps them there; the days after
 * it still get their own.
 */
async function makeDay(work: Work, parent: string, day: string): Promise<number> {
  try {
    return await underLock(work, parent, async (tx) => {
      const [row] = await tx.$queryRaw<{ amount: number }[]>`
        SELECT gwk_ensure_partitions(${parent}, ${day}::date, ${day}::date) AS amount`;
      return row!.amount;
    });
  } catch (error) {
    if (!isCheckViolation(error)) throw error;
    work.log.warn({ table: parent, day }, 'rows of this day are in the default partition');
    return 0;
  }
}

/** Rows that came without a partition for their day are removed one by one. */
async function emptyDefault({ db }: Work, { parent, keepFrom }: PartitionPlan): Promise<JobResult> {
  const table = `${parent}_default`;
  const sql = `DELETE FROM ${table} WHERE id IN (
    SELECT id FROM ${table} WHERE id < gwk_lowest_id($1::date::timestamp AT TIME ZONE 'UTC')
    LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`;
  while ((await db.$executeRawUnsafe(sql, keepFrom)) === GROUP);
  return NOTHING;
}

/** Small ones, and one that is not if it is time for it. One that is in use keeps no younger one. */
async function dropExpired(work: Work, { parent, keepFrom }: PartitionPlan): Promise<JobResult> {
  for (let amount = 0; ;) {
    const [expired] = await work.db.$queryRaw<{ name: string }[]>`
      SELECT name FROM gwk_expired_partitions(${parent}, ${keepFrom}::date) AS name
      WHERE name <> ALL(${work.left.names()}::text[]) LIMIT 1`;
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

/** What was dropped: a partition of that size; or why none was: another worker did it, or it is not yet time. */
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
      (tx) => keepOthersAway(tx, name, work.times),
    );
  } catch (error) {
    if (isMissing(error, name)) return 'missing';
    throw error;
  }
}

async function keepOthersAway(
  tx: Transaction,
  partition: string,
  { patienceMs }: PartitionTimes,
): Promise<void> {
  await setLockTimeout(tx, patienceMs);
  try {
    await tx.$queryRaw`SELECT gwk_lock_out_vacuum(${partition})::text`;
  } catch (error) {
    throw isLockTimeout(error) ? new InUse(partition, 'the partition is in use: it is dropped later') : error;
  }
}

type Transaction = Parameters<Parameters<Database['$transaction']>[0]>[0];

/**
 * For a change of a table that everybody uses, one worker at a time. It waits for those who use the table, and all who
 * come after wait for it: so it never waits long. Behind a reader that stays (a backup) it gives up.
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
          await tx.$executeRawUnsafe(`SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`);
          await prepare?.(tx);
          await setLockTimeout(tx, lockTimeoutMs);
          await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtext('gwk partitions'))::text`;
          return await work(tx);
        },
        { timeout: TRANSACTION_MS },
      );
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (attempt < LOCK_ATTEMPTS) await sleep(lockRetryMs * attempt);
    }
  }
  throw new InUse(table, 'the table is in use for long: its partitions are seen to later');
}

const setLockTimeout = (tx: Transaction, ms: number) =>
  tx.$executeRawUnsafe(`SET LOCAL lock_timeout = ${ms}`);

function isLockTimeout(error: unknown): boolean {
  return /55P03|lock timeout/.test(String((error as Error).message));
}

function isMissing(error: unknown, name: string): boolean {
  const message = String((error as Error).message);
  const bare = name.slice(name.lastIndexOf('.') + 1);
  return /42P01|does not exist/.test(message) && message.includes(bare);
}

function isCheckViolation(error: unknown): boolean {
  return /23514|default partition .* would be violated/.test(String((error as Error).message));
}
