import { gauge } from './metric.js';

/** Metrics of the connections to Postgres, Redis and the media store, in `gwk api` and `gwk worker`. */
export const STORE_METRICS = {
  ready: gauge(
    'gwk_ready',
    '1 while `/readyz` succeeds: Postgres answers this program, and it is not shutting down.',
  ),
  poolConnections: gauge(
    'gwk_database_pool_connections',
    'Connections of this process to Postgres: busy with a statement or transaction, or idle.',
    ['state'],
  ),
  poolWaiting: gauge(
    'gwk_database_pool_waiting',
    'Statements and transactions waiting for a connection to Postgres.',
  ),
  poolLimit: gauge('gwk_database_pool_limit', 'Maximum connections of this process to Postgres.'),
  redisSeconds: gauge(
    'gwk_redis_ping_seconds',
    'Duration of a small write to Redis at scrape time. NaN if Redis rejected it or took longer than 1 s.',
  ),
  redisMemory: gauge(
    'gwk_redis_memory_ratio',
    'Used memory of Redis divided by its `maxmemory`. NaN if Redis has no such limit or does not report it.',
  ),
  mediaWritable: gauge(
    'gwk_media_store_writable',
    '1 if the last test write to the media store, at most 30 s ago, succeeded. NaN before the first one.',
  ),
} as const;
