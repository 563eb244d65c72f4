import { STORE_METRICS } from '@gwk/core/metrics/stores';
import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { Registry } from 'prom-client';
import type { Database } from '../database/database.js';
import type { StoreWatch } from '../media/store/watch.js';
import { resultWithin } from '@gwk/core/async/timeout';
import { observedGauge } from '../platform/metrics/gauge.js';
import { readMemoryRatio, type Redis } from '../platform/redis.js';

const REDIS_LIMIT_MS = 1_000;
/** Below the scrape timeout of Prometheus, which the first check of an unresponsive store would exceed. */
const MEDIA_LIMIT_MS = 4_000;
const PROBE_KEPT_MS = 1_000;

export interface Stores {
  db: Database;
  redis: Redis;
  redisKeys: RedisKeys;
  media: { watch: Pick<StoreWatch, 'writable'> };
}

/** Registers the metrics of the connections to Postgres and Redis and of the media store. */
export function storeMetrics(registry: Registry, { db, redis, redisKeys, media }: Stores): void {
  observedGauge(registry, STORE_METRICS.poolConnections, () => {
    const { busy, idle } = db.readPoolUsage();
    return { busy, idle };
  });
  observedGauge(registry, STORE_METRICS.poolWaiting, () => db.readPoolUsage().waiting);
  observedGauge(registry, STORE_METRICS.poolLimit, () => db.readPoolUsage().limit);
  observedGauge(registry, STORE_METRICS.redisSeconds, () => writeSeconds(redis, redisKeys.probe));
  observedGauge(registry, STORE_METRICS.redisMemory, () =>
    redis.isReady
      ? resultWithin(redis.info('memory').then(readMemoryRatio), REDIS_LIMIT_MS, Number.NaN)
      : Number.NaN,
  );
  observedGauge(registry, STORE_METRICS.mediaWritable, () =>
    resultWithin(media.watch.writable().then(Number), MEDIA_LIMIT_MS, Number.NaN),
  );
}

/** Measures a write, as notifications are writes: a full Redis or a replica answers everything else. */
async function writeSeconds(redis: Redis, key: string): Promise<number> {
  if (!redis.isReady) return Number.NaN;
  const began = performance.now();
  const written = redis.set(key, '', { expiration: { type: 'PX', value: PROBE_KEPT_MS } });
  const taken = written.then(() => (performance.now() - began) / 1000);
  return resultWithin(taken, REDIS_LIMIT_MS, Number.NaN);
}
