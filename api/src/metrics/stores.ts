import { STORE_METRICS } from '@gwk/core/metrics/stores';
import type { Registry } from 'prom-client';
import { poolUseOf, type Database } from '../database.js';
import type { StoreWatch } from '../media/store/watch.js';
import type { Redis } from '../redis.js';
import { observedGauge, observedGauges } from './gauge.js';

const PING_LIMIT_MS = 1_000;

export interface Stores {
  db: Database;
  redis: Redis;
  media: { watch: Pick<StoreWatch, 'writable'> };
}

/** Of the connections that this process holds to Postgres and Redis. */
export function storeMetrics(registry: Registry, { db, redis, media }: Stores): void {
  observedGauges(registry, STORE_METRICS.poolConnections, () => {
    const { busy, idle } = poolUseOf(db);
    return { busy, idle };
  });
  observedGauge(registry, STORE_METRICS.poolWaiting, () => poolUseOf(db).waiting);
  observedGauge(registry, STORE_METRICS.poolLimit, () => poolUseOf(db).limit);
  observedGauge(registry, STORE_METRICS.redisSeconds, () => pingSeconds(redis));
  observedGauge(registry, STORE_METRICS.mediaWritable, async () => Number(await media.watch.writable()));
}

async function pingSeconds(redis: Redis): Promise<number> {
  if (!redis.isReady) return Number.NaN;
  const began = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<number>((resolve) => {
    timer = setTimeout(() => resolve(Number.NaN), PING_LIMIT_MS);
  });
  const answered = redis.ping().then(
    () => (performance.now() - began) / 1000,
    () => Number.NaN,
  );
  return Promise.race([answered, tooLate]).finally(() => clearTimeout(timer));
}
