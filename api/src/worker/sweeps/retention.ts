import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../database.js';
import type { Sweep, SweepDeps, Swept } from './sweep.js';

/** What is kept for how long (design: Retention, At rest). */
export interface RetentionOptions {
  messageDays: number;
  eventDays: number;
  deliveryDays: number;
  contentHours: number;
  stateMonths: number;
  auditMonths: number;
}

const GROUP = 1_000;
const HOUR_MS = 3_600_000;
/** What gwk_change_messages writes into delete_at, counted from when the message left. */
const CONTENT_HOURS_WRITTEN = 24;
/** The longest window that the mass block counts over. */
const MASS_SENDS_HOURS = 24;
/** The public status tells of 30 days. */
const FORMAT_CHECK_DAYS = 90;
/** Longer than a webhook is tried for. */
const TRACE_DAYS = 3;
/** The network keeps what it could not deliver for less. */
const INBOUND_SEEN_DAYS = 30;

export interface PartitionPlan {
  parent: string;
  /** Days (UTC) that need a partition: yesterday until a week ahead. */
  days: string[];
  /** Partitions of earlier days are dropped. */
  keepFrom: string;
}

const DAYS_AHEAD = 7;
/** For so long at most others wait for a change of partitions. */
const LOCK_TIMEOUT_MS = 100;
const VACUUM_PATIENCE_MS = 3_000;
const LOCK_ATTEMPTS = 5;
const LOCK_RETRY_MS = 200;
const DAY_MS = 24 * HOUR_MS;

export function planPartitions(now: Date, options: RetentionOptions): PartitionPlan[] {
  const day = (offset: number): string =>
    new Date(now.getTime() + offset * DAY_MS).toISOString().slice(0, 10);
  const days = Array.from({ length: DAYS_AHEAD + 2 }, (_, index) => day(index - 1));
  const kept = {
    messages: options.messageDays,
    events: options.eventDays,
    webhook_deliveries: options.deliveryDays,
  };
  return Object.entries(kept).map(([parent, daysKept]) => ({ parent, days, keepFrom: day(-daysKept) }));
}

/** Partitions of the days to come, and an end to those of the days gone by. */
export function partitionSweep({ db, log }: Deps, options: RetentionOptions): Sweep {
  return {
    name: 'partitions',
    everyMs: HOUR_MS,
    async pass() {
      let amount = 0;
      for (const plan of planPartitions(new Date(), options)) {
        for (const day of plan.days) amount += await ensurePartition({ db, log }, plan.parent, day);
        amount += await dropPartitions({ db, log }, plan);
        await emptyDefault(db, plan);
      }
      return { amount, more: false };
    },
  };
}

type Deps = Pick<SweepDeps, 'db' | 'log'>;

/**
 * A day that has rows in the default partition already (no worker ran for a week) keeps them there; the days after
 * it still get their own.
 */
async function ensurePartition(deps: Deps, parent: string, day: string): Promise<number> {
  try {
    return await underLock(
      deps,
      parent,
      (tx) => tx.$queryRaw`
      SELECT gwk_ensure_partitions(${parent}, ${day}::date, ${day}::date) AS amount`,
    );
  } catch (error) {
    if (!isCheckViolation(error)) throw error;
    deps.log.warn({ table: parent, day }, 'rows of this day are in the default partition');
    return 0;
  }
}

async function dropPartitions(deps: Deps, { parent, keepFrom }: PartitionPlan): Promise<number> {
  for (let amount = 0; ; amount++) {
    const [row] = await deps.db.$queryRaw<{ name: string | null }[]>`
      SELECT gwk_expired_partition(${parent}, ${keepFrom}::date) AS name`;
    const { name } = row!;
    if (name === null || !(await dropPartition(deps, parent, name))) return amount;
  }
}

async function dropPartition(deps: Deps, parent: string, name: string): Promise<boolean> {
  if (!(await leaveAlone(deps, name))) return false;
  const dropped = await underLock(
    deps,
    parent,
    (tx) => tx.$queryRaw`SELECT gwk_drop_partition(${name}) AS amount`,
  );
  return dropped > 0;
}

/**
 * Vacuum gives way after a second, unless it must not (wraparound): then the partition stays until a later pass. One
 * that another worker has dropped meanwhile needs nothing.
 */
async function leaveAlone({ db, log }: Deps, partition: string): Promise<boolean> {
  try {
    await db.$transaction([
      db.$executeRawUnsafe(`SET LOCAL lock_timeout = ${VACUUM_PATIENCE_MS}`),
      db.$queryRaw`SELECT gwk_leave_partition_alone(${partition})::text`,
    ]);
    return true;
  } catch (error) {
    if (isMissing(error)) return true;
    if (!isLockTimeout(error)) throw error;
    log.warn({ table: partition }, 'the partition is being vacuumed: it is dropped later');
    return false;
  }
}

type Transaction = Parameters<Parameters<Database['$transaction']>[0]>[0];

/**
 * For a change of a table that everybody uses, one worker at a time. It waits for those who use the table, and all who
 * come after wait for it: so it never waits long. Behind a reader that stays (a backup) it gives up, until the next
 * pass: nothing is lost by keeping a day for longer.
 */
async function underLock(
  { db, log }: Deps,
  table: string,
  work: (tx: Transaction) => Promise<{ amount: number }[]>,
): Promise<number> {
  for (let attempt = 1; attempt <= LOCK_ATTEMPTS; attempt++) {
    try {
      return await db.$transaction(async (tx) => {
        await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
        await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtext('gwk partitions'))::text`;
        const [row] = await work(tx);
        return row!.amount;
      });
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (attempt < LOCK_ATTEMPTS) await sleep(LOCK_RETRY_MS * attempt);
    }
  }
  log.warn({ table }, 'the table is in use for long: its partitions are seen to later');
  return 0;
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

/** Rows that end one by one: each statement takes a group of what is due and leaves what others have locked. */
const EXPIRING: Record<string, (options: RetentionOptions) => string> = {
  content: ({ contentHours }) => `
    DELETE FROM message_contents WHERE message_id IN (
      SELECT message_id FROM message_contents
      WHERE delete_at <= now() - interval '${contentHours - CONTENT_HOURS_WRITTEN} hours'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  idempotency: () => `
    DELETE FROM idempotency_records WHERE id IN (
      SELECT id FROM idempotency_records WHERE expires_at <= now()
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'mass-sends': () => `
    DELETE FROM mass_sends WHERE (fingerprint, contact_id) IN (
      SELECT fingerprint, contact_id FROM mass_sends
      WHERE at <= now() - interval '${MASS_SENDS_HOURS} hours'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'inbound-seen': () => `
    DELETE FROM inbound_seen WHERE (conversation_id, participant, wa_message_id) IN (
      SELECT conversation_id, participant, wa_message_id FROM inbound_seen
      WHERE seen_at <= now() - interval '${INBOUND_SEEN_DAYS} days'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  menus: () => `
    DELETE FROM menus WHERE message_id IN (
      SELECT message_id FROM menus WHERE delete_at <= now() LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'trace-contexts': () => `
    DELETE FROM trace_contexts WHERE id IN (
      SELECT id FROM trace_contexts WHERE id < gwk_lowest_id(now() - interval '${TRACE_DAYS} days')
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'webhook-secrets': () => `
    DELETE FROM webhook_secrets WHERE id IN (
      SELECT id FROM webhook_secrets WHERE expires_at <= now() LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'contact-checks': () => `
    DELETE FROM contact_checks WHERE (instance_id, phone) IN (
      SELECT instance_id, phone FROM contact_checks WHERE checked_at <= now() - interval '24 hours'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'instance-states': ({ stateMonths }) => `
    DELETE FROM instance_states WHERE id IN (
      SELECT id FROM instance_states WHERE ended_at <= now() - interval '${stateMonths} months'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'instance-suspensions': ({ stateMonths }) => `
    DELETE FROM instance_suspensions WHERE id IN (
      SELECT id FROM instance_suspensions WHERE ended_at <= now() - interval '${stateMonths} months'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'audit-entries': ({ auditMonths }) => `
    DELETE FROM audit_entries WHERE id IN (
      SELECT id FROM audit_entries
      WHERE id < gwk_lowest_id(now() - interval '${auditMonths} months') AND told_at IS NOT NULL
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
  'format-checks': () => `
    DELETE FROM format_checks WHERE id IN (
      SELECT id FROM format_checks WHERE started_at <= now() - interval '${FORMAT_CHECK_DAYS} days'
      LIMIT ${GROUP} FOR UPDATE SKIP LOCKED)`,
};

export function retentionSweep({ db }: SweepDeps, options: RetentionOptions): Sweep {
  const statements = Object.values(EXPIRING).map((make) => make(options));
  return {
    name: 'retention',
    everyMs: 10_000,
    async pass(): Promise<Swept> {
      let amount = 0;
      let more = false;
      for (const statement of statements) {
        const removed = await db.$executeRawUnsafe(statement);
        amount += removed;
        more ||= removed === GROUP;
      }
      return { amount, more };
    },
  };
}
