import { INSTANCE_STATES, type InstanceState } from '@gwk/core/states';
import type { Database, Queryable } from '../database/database.js';
import { cacheQuery, type Times } from './cached-query.js';
import { STALLED_SECONDS } from './stalled-sends.js';
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

interface Row {
  sends: Partial<Backlog['sends']> | null;
  send_age: number | null;
  send_stalled_age: number | null;
  scheduled_late: number | null;
  preparation_age: number | null;
  deliveries: number;
  delivery_age: Partial<Backlog['deliveryAge']> | null;
  endpoints: Partial<Backlog['endpoints']> | null;
  instances: Partial<Backlog['instances']> | null;
  instances_down: number;
  retention_late: number | null;
  partitions_expired: number;
}

const DOWN_MINUTES = 5;

/** Retention periods; older rows count as overdue. */
type Keeping = DaysKept & Pick<RetentionOptions, 'contentHours'>;

/** Cached queries of the worker's metrics. */
export const postgresReaders = (db: Database, keeping: Keeping) => ({
  backlog: backlogReader(db, keeping),
  databaseBytes: databaseSizeReader(db),
});

export const backlogReader = (db: Database, keeping: Keeping, times?: Times) =>
  cacheQuery(() => readBacklog(db, keeping), times);

/** Reads the size in bytes with its own statement, so that it shows whether Postgres answers when the others are slow. */
export const databaseSizeReader = (db: Database, times?: Times) =>
  cacheQuery(async () => {
    const [row] = await db.$queryRaw<[{ bytes: number }]>`
      SELECT pg_database_size(current_database())::float8 AS bytes`;
    return row.bytes;
  }, times);

/** Ages are in seconds; 0: nothing is queued. */
export async function readBacklog(db: Queryable, keeping: Keeping): Promise<Backlog> {
  const plans = planPartitions(new Date(), keeping);
  const more = hoursBeyondWritten(keeping);
  const [row] = await db.$queryRaw<Row[]>`
    SELECT
      (SELECT jsonb_object_agg(state, amount)
        FROM (SELECT state, count(*) AS amount FROM outbox GROUP BY state) o) AS sends,
      (SELECT extract(epoch FROM now() - min(o.head_since))::float8 FROM outbox o
        JOIN instances i ON i.id = o.instance_id
        WHERE o.head AND o.prepared AND o.state = 'waiting' AND i.state = 'connected') AS send_age,
      (${STALLED_SECONDS}) AS send_stalled_age,
      (SELECT extract(epoch FROM now() - min(release_at))::float8 FROM outbox WHERE release_at IS NOT NULL)
        AS scheduled_late,
      (SELECT extract(epoch FROM now() - min(created_at))::float8 FROM outbox WHERE NOT prepared)
        AS preparation_age,
      (SELECT count(*)::float8 FROM webhook_queue) AS deliveries,
      (SELECT jsonb_object_agg(endpoint_state, age) FROM (
        SELECT CASE WHEN e.enabled AND e.failing_since IS NULL THEN 'healthy' ELSE 'failing' END AS endpoint_state,
          greatest(0, extract(epoch FROM now() - min(q.first_due)))::float8 AS age
        FROM gwk_queued_endpoints() q JOIN webhook_endpoints e ON e.id = q.id GROUP BY 1) a) AS delivery_age,
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
          AND s.ended_at > now() - ${DOWN_MINUTES}::integer * interval '1 minute')) AS instances_down,
      (SELECT extract(epoch FROM now() - min(delete_at))::float8 - ${more * 3600}::float8 FROM message_contents)
        AS retention_late,
      (SELECT count(*)::float8 FROM unnest(${plans.map(({ parent }) => parent)}::text[],
          ${plans.map(({ keepFrom }) => keepFrom)}::text[]) AS kept (parent, keep_from),
        gwk_expired_partitions(kept.parent, kept.keep_from::date)) AS partitions_expired`;
  return toBacklog(row!);
}

function toBacklog(row: Row): Backlog {
  const none = Object.fromEntries(INSTANCE_STATES.map((state) => [state, 0])) as Backlog['instances'];
  return {
    sends: { scheduled: 0, waiting: 0, claimed: 0, ...row.sends },
    sendAge: age(row.send_age),
    sendStalledAge: age(row.send_stalled_age),
    scheduledLate: age(row.scheduled_late),
    preparationAge: age(row.preparation_age),
    deliveries: row.deliveries,
    deliveryAge: { healthy: 0, failing: 0, ...row.delivery_age },
    endpoints: { enabled: 0, failing: 0, disabled_by_owner: 0, disabled_by_gwk: 0, ...row.endpoints },
    instances: { ...none, ...row.instances },
    instancesDown: row.instances_down,
    retentionLate: age(row.retention_late),
    partitionsExpired: row.partitions_expired,
  };
}

const age = (seconds: number | null): number => Math.max(0, seconds ?? 0);
