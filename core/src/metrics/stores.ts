import { gauge } from './metric.js';

/** Of the programs that hold connections to Postgres and Redis, and keep files: `gwk api` and `gwk worker`. */
export const STORE_METRICS = {
  ready: gauge({
    name: 'gwk_ready',
    help: '1 while `/readyz` is green: Postgres answers this program, and it is not stopping.',
  }),
  poolConnections: gauge({
    name: 'gwk_database_pool_connections',
    help: 'Connections to Postgres of this process: busy with a statement or transaction, or idle.',
    labelNames: ['state'],
  }),
  poolWaiting: gauge({
    name: 'gwk_database_pool_waiting',
    help: 'Statements and transactions that wait for a connection to Postgres.',
  }),
  poolLimit: gauge({
    name: 'gwk_database_pool_limit',
    help: 'Connections to Postgres that this process opens at most.',
  }),
  redisSeconds: gauge({
    name: 'gwk_redis_ping_seconds',
    help: 'How long Redis took over a small write just now; NaN where it did not take it within a second, or refused it.',
  }),
  mediaWritable: gauge({
    name: 'gwk_media_store_writable',
    help: '1 where the store of files could be written to when it was last tried, at most half a minute ago; NaN until it was tried.',
  }),
} as const;
