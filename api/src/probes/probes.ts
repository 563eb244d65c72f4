import type { Listener } from '@gwk/core/http/listener-limits';
import { STORE_METRICS } from '@gwk/core/metrics/stores';
import {
  createProbeHandler,
  startProbeListener,
  type ProbeSources,
  type Readiness,
} from '@gwk/core/http/probes';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { Registry } from 'prom-client';
import type { Database } from '../database/database.js';
import { findNewestMigration } from '../database/migrate.js';
import type { StoreWatch } from '../media/store/watch.js';
import { observedGauge } from '../platform/metrics/gauge.js';
import type { Redis } from '../platform/redis.js';
import { resolvesWithin, resultWithin } from '@gwk/core/async/timeout';

export interface HealthOptions {
  db: Database;
  redis: Redis;
  media: Pick<StoreWatch, 'writable'>;
  /** Null: no /metrics here. One listener per process serves it and registers the readiness metric. */
  registry: Registry | null;
  draining: () => boolean;
  closing?: ProbeSources['closing'];
}

const CHECK_MS = 2_000;
/** Concurrent probes share one query. */
const FRESH_MS = 500;

/** Middleware that answers probes. */
export function health(options: HealthOptions): RequestHandler {
  const handle = createProbeHandler(createSources(options));
  return (req: Request, res: Response, next: NextFunction) => {
    const answer = handle(req, res);
    if (answer) answer.catch(next);
    else next();
  };
}

/** Starts a listener with /livez, /readyz and /metrics only. */
export function startHealthListener(
  address: { host: string; port: number },
  options: HealthOptions,
): Promise<Listener> {
  return startProbeListener(address, createSources(options));
}

function createSources({ registry, closing, ...options }: HealthOptions): ProbeSources {
  const readiness = readinessOf(options);
  if (registry) observedGauge(registry, STORE_METRICS.ready, async () => Number((await readiness()).ready));
  return { readiness, metrics: registry?.metrics.bind(registry), ...(closing && { closing }) };
}

type PostgresCheck = 'ok' | 'unreachable' | 'not-migrated';

/** An empty database or a half-done restore answers, but no request succeeds: it lacks the newest migration. */
async function checkPostgres(db: Database, migration: string): Promise<PostgresCheck> {
  try {
    const found = await db.$queryRaw<unknown[]>`
      SELECT 1 FROM _prisma_migrations WHERE migration_name = ${migration} AND finished_at IS NOT NULL`;
    return found.length > 0 ? 'ok' : 'not-migrated';
  } catch {
    return (await resolvesWithin(db.$queryRaw`SELECT 1`, CHECK_MS)) ? 'not-migrated' : 'unreachable';
  }
}

/**
 * Readiness fails without a migrated Postgres and while stopping. It reports Redis and the media store but does not fail without them:
 * without Redis sends are delayed, and all replicas share the media store, so failing readiness would take all of them out
 * of service for uploads alone. The alert GwkMediaStoreUnavailable covers the media store.
 */
function readinessOf({ db, redis, media, draining }: Omit<HealthOptions, 'registry' | 'closing'>) {
  let last: Promise<PostgresCheck> | undefined;
  let lastAt = -Infinity;
  const migration = findNewestMigration();
  const checkOnce = (): Promise<PostgresCheck> => {
    if (last && performance.now() - lastAt < FRESH_MS) return last;
    lastAt = performance.now();
    return (last = resultWithin(checkPostgres(db, migration), CHECK_MS, 'unreachable'));
  };
  return async (): Promise<Readiness> => {
    const [postgres, writable] = await Promise.all([
      checkOnce(),
      resultWithin(media.writable(), CHECK_MS, false),
    ]);
    const checks = {
      postgres,
      media: writable ? 'ok' : 'not-writable',
      redis: redis.isReady ? 'ok' : 'unreachable',
      process: draining() ? 'stopping' : 'ok',
    };
    return { ready: checks.postgres === 'ok' && checks.process === 'ok', checks };
  };
}
