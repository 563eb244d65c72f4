import { INSTANCE_STATES, type InstanceState } from '@gwk/core/states';
import type { Database, Queryable } from '../database/database.js';
import { Prisma } from '../generated/prisma/client.js';
import { cacheQuery, type Times } from '../database/cached-query.js';
import { planPartitions, type DaysKept } from './partitions.js';
import { hoursBeyondWritten, type RetentionOptions } from './retention.js';

/** Queued work of the whole gateway and its age in seconds, read from Postgres. */
export interface Backlog {
  sends: Record<'scheduled' | 'waiting' | 'claimed', number>;
  sendAge: number;
  sendStalledAge: number;
  scheduledLate: number;
  preparationAge: number;
  deliveries: number;
  /** By endpoint state: deliveries to failing endpoints are delayed on purpose, so their age does not indicate a slow worker. */
  deliveryAge: Record<'healthy' | 'failing', number>;
  endpoints: Record<'enabled' | 'failing' | 'disabled_by_owner' | 'disabled_by_gwk', number>;
  instances: Record<InstanceState, number>;
  /**
   * Instances without a connection for more than 5 minutes that should reconnect by themselves. Every attempt changes the
   * state, so the last other state counts. Logged out and banned instances need a person and are not counted.
   */
  instancesDown: number;
  retentionLate: number;
  partitionsExpired: number;
}

/** Queued work as read: no series without rows. */
type Row = Omit<Backlog, Series> & { [name in Series]: Partial<Backlog[name]> | null };
type Series = 'sends' | 'deliveryAge' | 'endpoints' | 'instances';

const DOWN_MINUTES = 5;

/** Retention periods; older rows count as overdue. */
type Keeping = DaysKept & Pick<RetentionOptions, 'contentHours'>;

/**
 * Cached queries of the worker's metrics. The size of the database in bytes has its own statement, so that it shows whether
 * Postgres answers when the others are slow.
 */
export const postgresReaders = (db: Database, keeping: Keeping, times?: Times) => ({
  backlog: cacheQuery(() => readBacklog(db, keeping), times),
  databaseBytes: cacheQuery(async () => {
    const [row] = await db.$queryRaw<[{ bytes: number }]>`
      SELECT pg_database_size(current_database())::float8 AS bytes`;
    return row.bytes;
  }, times),
  eventsHeld: cacheQuery(watchEventHorizon(db), times),
});

/** The oldest running transaction with writes, and when it was first seen. */
export interface Holder {
  transaction: string;
  since: number;
}

/**
 * @param oldest the oldest running transaction; null: none runs
 * @returns null: none holds the horizon of events
 */
export function trackHolder(known: Holder | null, oldest: string | null, now: number): Holder | null {
  if (oldest === null) return null;
  return known?.transaction === oldest ? known : { transaction: oldest, since: now };
}

/**
 * Reads for how many seconds one transaction has held the horizon of events. Postgres hides the start of transactions of
 * other roles and databases, so the time counts from the first read that saw it. Until a later transaction has ended, it
 * holds nothing back: xmin and xmax are equal.
 */
export function watchEventHorizon(
  db: Queryable,
  now: () => number = () => performance.now(),
): () => Promise<number> {
  let holder: Holder | null = null;
  return async () => {
    const [row] = await db.$queryRaw<[{ oldest: string | null }]>`
      SELECT nullif(pg_snapshot_xmin(s), pg_snapshot_xmax(s))::text AS oldest FROM pg_current_snapshot() s`;
    const at = now();
    holder = trackHolder(holder, row.oldest, at);
    return holder === null ? 0 : (at - holder.since) / 1000;
  };
}

/**
 * SQL for the longest time in seconds for which a connected instance has sent and claimed nothing although a message of it
 * is due; null: none is due. Times over an hour count as an hour.
 *
 * Pacing lets at least one message a minute leave, so the age of the oldest message does not show a stall; claims
 * (`claimed_at`) and `message.sent` events do. Failures do not count: jobs also fail messages that a hanging engine holds.
 * An offline instance is not stalled.
 *
 * Each lookup uses an index and stops at its first row: the first due message of the instance, its claims (at most 500) and
 * its newest events of an hour. OFFSET 0 keeps the planner from reading all sent events of the account by type.
 */
const STALLED_SECONDS = Prisma.sql`
  SELECT extract(epoch FROM now() - min(
    GREATEST(first.head_since, i.state_changed_at, claimed.at, sent.at, now() - interval '1 hour')))::float8
  FROM instances i
  JOIN accounts a ON a.id = i.account_id
  CROSS JOIN LATERAL (
    SELECT o.head_since FROM outbox o
    WHERE o.instance_id = i.id AND o.head AND o.prepared AND o.state = 'waiting'
    ORDER BY o.head_since LIMIT 1) AS first
  CROSS JOIN LATERAL (
    SELECT max(o.claimed_at) AS at FROM outbox o
    WHERE o.instance_id = i.id AND o.claim_id IS NOT NULL) AS claimed
  LEFT JOIN LATERAL (
    SELECT e.at FROM (
      SELECT e.type, e."timestamp" AS at FROM events e
      WHERE e.instance_id = i.id AND e.id >= gwk_lowest_id(now() - interval '1 hour')
      ORDER BY e.id DESC OFFSET 0) AS e
    WHERE e.type = 'message.sent' LIMIT 1) AS sent ON true
  WHERE i.state = 'connected' AND i.deleted_at IS NULL AND a.suspended_at IS NULL`;

/** Ages are in seconds; 0: nothing is queued. */
export async function readBacklog(db: Queryable, keeping: Keeping): Promise<Backlog> {
  const plans = planPartitions(new Date(), keeping);
  const more = hoursBeyondWritten(keeping);
  const [row] = await db.$queryRaw<Row[]>`
    SELECT
      (SELECT jsonb_object_agg(state, amount)
        FROM (SELECT state, count(*) AS amount FROM outbox GROUP BY state) o) AS sends,
      (SELECT ${age('min(o.head_since)')} FROM outbox o
        JOIN instances i ON i.id = o.instance_id
        WHERE o.head AND o.prepared AND o.state = 'waiting' AND i.state = 'connected') AS "sendAge",
      greatest(0, (${STALLED_SECONDS})) AS "sendStalledAge",
      (SELECT ${age('min(release_at)')} FROM outbox WHERE release_at IS NOT NULL) AS "scheduledLate",
      (SELECT ${age('min(created_at)')} FROM outbox WHERE NOT prepared) AS "preparationAge",
      (SELECT count(*)::float8 FROM webhook_queue) AS deliveries,
      (SELECT jsonb_object_agg(endpoint_state, age) FROM (
        SELECT CASE WHEN e.enabled AND e.failing_since IS NULL THEN 'healthy' ELSE 'failing' END AS endpoint_state,
          ${age('min(q.first_due)')} AS age
        FROM gwk_queued_endpoints() q JOIN webhook_endpoints e ON e.id = q.id GROUP BY 1) a) AS "deliveryAge",
      (SELECT jsonb_object_agg(state, amount) FROM (
        SELECT CASE
            WHEN enabled AND failing_since IS NOT NULL
              AND EXISTS (SELECT FROM webhook_queue q WHERE q.endpoint_id = w.id) THEN 'failing'
            WHEN enabled THEN 'enabled'
            WHEN disabled_reason IS NULL THEN 'disabled_by_owner'
            ELSE 'disabled_by_gwk' END AS state,
          count(*) AS amount FROM webhook_endpoints w GROUP BY 1) e) AS endpoints,
      (SELECT jsonb_object_agg(state, amount) FROM (
        SELECT state, count(*) AS amount FROM instances WHERE deleted_at IS NULL GROUP BY state) i) AS instances,
      (SELECT count(*)::float8 FROM instances i WHERE deleted_at IS NULL AND NOT suspended
        AND first_connected_at IS NOT NULL AND state IN ('connecting', 'disconnected')
        AND NOT EXISTS (SELECT FROM instance_states s WHERE s.instance_id = i.id
          AND s.state NOT IN ('connecting', 'disconnected')
          AND s.ended_at > now() - ${DOWN_MINUTES}::integer * interval '1 minute')
        AND NOT EXISTS (SELECT FROM instance_suspensions s WHERE s.instance_id = i.id
          AND s.ended_at > now() - ${DOWN_MINUTES}::integer * interval '1 minute')) AS "instancesDown",
      (SELECT ${age(`min(delete_at) + interval '${more} hours'`)} FROM message_contents) AS "retentionLate",
      (SELECT count(*)::float8 FROM unnest(${plans.map(({ parent }) => parent)}::text[],
          ${plans.map(({ keepFrom }) => keepFrom)}::text[]) AS kept (parent, keep_from),
        gwk_expired_partitions(kept.parent, kept.keep_from::date)) AS "partitionsExpired"`;
  return toBacklog(row!);
}

/** SQL for the seconds since a time; 0 if there is none or it is in the future. */
const age = (time: string): Prisma.Sql =>
  Prisma.raw(`greatest(0, extract(epoch FROM now() - (${time})))::float8`);

function toBacklog(row: Row): Backlog {
  const none = Object.fromEntries(INSTANCE_STATES.map((state) => [state, 0])) as Backlog['instances'];
  return {
    ...row,
    sends: { scheduled: 0, waiting: 0, claimed: 0, ...row.sends },
    deliveryAge: { healthy: 0, failing: 0, ...row.deliveryAge },
    endpoints: { enabled: 0, failing: 0, disabled_by_owner: 0, disabled_by_gwk: 0, ...row.endpoints },
    instances: { ...none, ...row.instances },
  };
}
