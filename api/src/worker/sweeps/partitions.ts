import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../database.js';
import type { Sweep, SweepDeps, Swept } from './sweep.js';

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
/**
 * One partition in so long, by whichever worker, unless it is small: what a drop gives back to the disk holds up what is
 * written meanwhile, for some 100 ms where there were a million rows.
 */
const REST_MS = 10_000;
const SMALL_BYTES = 8_388_608;
/** A loop comes a tenth earlier or later than it is told. */
const TURN_MS = REST_MS * 0.9;
/** For so long at most others wait for a change of partitions. */
const LOCK_TIMEOUT_MS = 100;
const LOCK_ATTEMPTS = 5;
const LOCK_RETRY_MS = 200;
/** Vacuum gives way after a second, unless it must not (wraparound). */
const VACUUM_PATIENCE_MS = 3_000;
const TRANSACTION_MS = 15_000;

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
export function partitionSweep({ db, log }: Deps, kept: DaysKept): Sweep {
  return {
    name: 'partitions',
    everyMs: 3_600_000,
    restMs: REST_MS,
    async pass() {
      const plans = planPartitions(new Date(), kept);
      const made = await ensurePartitions({ db, log }, plans);
      for (const plan of plans) await emptyDefault(db, plan);
      const { amount, more } = await dropPartitions({ db, log }, plans);
      return { amount: made + amount, more };
    },
  };
}

type Deps = Pick<SweepDeps, 'db' | 'log'>;

async function ensurePartitions(deps: Deps, plans: PartitionPlan[]): Promise<number> {
  const wanted = plans.flatMap(({ parent, days }) => days.map((day) => ({ parent, day })));
  const missing = await deps.db.$queryRaw<{ parent: string; day: string }[]>`
    SELECT parent, day FROM unnest(${wanted.map(({ parent }) => parent)}::text[],
      ${wanted.map(({ day }) => day)}::text[]) AS wanted (parent, day)
    WHERE to_regclass(gwk_partition_of(parent, day::date)) IS NULL`;
  let amount = 0;
  for (const { parent, day } of missing) amount += await ensurePartition(deps, parent, day);
  return amount;
}

/**
 * A day that has rows in the default partition already (no worker ran for a week) keeps them there; the days after
 * it still get their own.
 */
async function ensurePartition(deps: Deps, parent: string, day: string): Promise<number> {
  try {
    const made = await underLock(deps, parent, async (tx) => {
      const [row] = await tx.$queryRaw<{ amount: number }[]>`
        SELECT gwk_ensure_partitions(${parent}, ${day}::date, ${day}::date) AS amount`;
      return row!.amount;
    });
    return made ?? 0;
  } catch (error) {
    if (!isCheckViolation(error)) throw error;
    deps.log.warn({ table: parent, day }, 'rows of this day are in the default partition');
    return 0;
  }
}

/** Ends with the first that is not small. What is in use keeps none of the other tables. */
async function dropPartitions(deps: Deps, plans: PartitionPlan[]): Promise<Swept> {
  let amount = 0;
  for (const { parent, keepFrom } of plans) {
    for (;;) {
      const expired = await oldestExpired(deps.db, parent, keepFrom);
      const dropped = expired && (await dropPartition(deps, parent, expired));
      if (dropped === undefined) break;
      amount += dropped;
      if (!expired!.small) return { amount, more: true };
    }
  }
  return { amount, more: false };
}

interface Expired {
  name: string;
  small: boolean;
}

async function oldestExpired(db: Database, parent: string, keepFrom: string): Promise<Expired | undefined> {
  const [expired] = await db.$queryRaw<Expired[]>`
    SELECT name, coalesce(pg_total_relation_size(to_regclass(name)) < ${SMALL_BYTES}, true) AS small
    FROM gwk_expired_partitions(${parent}, ${keepFrom}::date) AS name LIMIT 1`;
  return expired;
}

class BeingVacuumed extends Error {}

/** @returns how many were dropped: none if another worker did it or it is not yet time; undefined while it is in use */
async function dropPartition(
  deps: Deps,
  parent: string,
  { name, small }: Expired,
): Promise<number | undefined> {
  try {
    return await underLock(
      deps,
      parent,
      async (tx) => {
        const [row] = await tx.$queryRaw<{ dropped: number }[]>`
          SELECT CASE WHEN ${small} OR gwk_take_turn('drop a partition', ${TURN_MS}::integer)
            THEN gwk_drop_partition(${name}) ELSE 0 END AS dropped`;
        return row!.dropped;
      },
      (tx) => keepVacuumAway(tx, name),
    );
  } catch (error) {
    if (isMissing(error)) return 0;
    if (!(error instanceof BeingVacuumed)) throw error;
    deps.log.warn({ table: name }, 'the partition is being vacuumed: it is dropped later');
    return undefined;
  }
}

async function keepVacuumAway(tx: Transaction, partition: string): Promise<void> {
  await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = ${VACUUM_PATIENCE_MS}`);
  try {
    await tx.$queryRaw`SELECT gwk_keep_vacuum_away(${partition})::text`;
  } catch (error) {
    throw isLockTimeout(error) ? new BeingVacuumed() : error;
  }
}

type Transaction = Parameters<Parameters<Database['$transaction']>[0]>[0];

/**
 * For a change of a table that everybody uses, one worker at a time. It waits for those who use the table, and all who
 * come after wait for it: so it never waits long. Behind a reader that stays (a backup) it gives up, until the next
 * pass: nothing is lost by keeping a day for longer.
 *
 * @returns undefined where it gave up
 */
async function underLock<T>(
  { db, log }: Deps,
  table: string,
  work: (tx: Transaction) => Promise<T>,
  prepare?: (tx: Transaction) => Promise<void>,
): Promise<T | undefined> {
  for (let attempt = 1; attempt <= LOCK_ATTEMPTS; attempt++) {
    try {
      return await db.$transaction(
        async (tx) => {
          await prepare?.(tx);
          await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
          await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtext('gwk partitions'))::text`;
          return await work(tx);
        },
        { timeout: TRANSACTION_MS },
      );
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (attempt < LOCK_ATTEMPTS) await sleep(LOCK_RETRY_MS * attempt);
    }
  }
  log.warn({ table }, 'the table is in use for long: its partitions are seen to later');
  return undefined;
}

/** Rows that came without a partition for their day are removed one by one. */
async function emptyDefault(db: Database, { parent, keepFrom }: PartitionPlan): Promise<void> {
  const table = `${parent}_default`;
  const sql = `DELETE FROM ${table} WHERE id IN (
    SELECT id FROM ${table} WHERE id < gwk_lowest_id($1::date::timestamp AT TIME ZONE 'UTC')
    LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`;
  while ((await db.$executeRawUnsafe(sql, keepFrom)) === GROUP);
}

function isLockTimeout(error: unknown): boolean {
  return /55P03|lock timeout/.test(String((error as Error).message));
}

function isMissing(error: unknown): boolean {
  return /42P01|relation .* does not exist/.test(String((error as Error).message));
}

function isCheckViolation(error: unknown): boolean {
  return /23514|default partition .* would be violated/.test(String((error as Error).message));
}
