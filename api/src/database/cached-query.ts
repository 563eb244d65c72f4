import { resolvesWithin } from '@gwk/core/async/timeout';

/** Time limits in milliseconds. */
export interface Times {
  /** Age up to which a result is served from the cache. */
  freshMs: number;
  /** Maximum wait of a caller, below the 10 s that Prometheus waits for /metrics. */
  timeoutMs: number;
  /** Maximum age of a result that is served while a slow query runs. */
  maxAgeMs: number;
}

const TIMES: Times = { freshMs: 10_000, timeoutMs: 4_000, maxAgeMs: 60_000 };

/**
 * Caches a query for 10 s. Callers wait at most 4 s and concurrent calls share one query, so a slow Postgres is not queried
 * more and does not block /metrics. The result is null if the query fails, or is late and the cached result is older than
 * a minute.
 */
export function cacheQuery<T>(
  read: () => Promise<T>,
  times: Times = TIMES,
  now: () => number = () => performance.now(),
): () => Promise<T | null> {
  let result: T | null = null;
  let readAt = -Infinity;
  let running: Promise<void> | undefined;
  const age = (): number => now() - readAt;
  const run = async (): Promise<void> => {
    result = await read().catch(() => null);
    readAt = now();
    running = undefined;
  };
  return async () => {
    if (age() < times.freshMs) return result;
    running ??= run();
    await resolvesWithin(running, times.timeoutMs);
    return age() < times.maxAgeMs ? result : null;
  };
}
