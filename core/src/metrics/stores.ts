import { gauge } from './metric.js';

/** Metrics of the connections to Postgres, Redis and the media store, in `gwk api` and `gwk worker`. */
export const STORE_METRICS = {
  ready: gauge({
    name: 'gwk_ready',
    help: '1 while `/readyz` succeeds: Postgres answers this program, and it is not shutting down.',
  }),
  poolConnections: gauge({
    name: 'gwk_database_pool_connections',
    help: 'Connections of this process to Postgres: busy with a statement or transaction, or idle.',
    labelNames: ['state'],
  }),
  poolWaiting: gauge({
    name: 'gwk_database_pool_waiting',
    help: 'Statements and transactions waiting for a connection to Postgres.',
  }),
  poolLimit: gauge({
    name: 'gwk_database_pool_limit',
    help: 'Maximum connections of this process to Postgres.',
  }),
  redisSeconds: gauge({
    name: 'gwk_redis_ping_seconds',
    help: 'Duration of a small write to Redis at scrape time. NaN if Redis rejected it or took longer than 1 s.',
  }),
  mediaWritable: gauge({
    name: 'gwk_media_store_writable',
    help: '1 if the last test write to the media store, at most 30 s ago, succeeded. NaN before the first one.',
  }),
} as const;
