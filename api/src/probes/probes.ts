import type { ServerResponse } from 'node:http';
import { startListener, type Listener } from '@gwk/core/listener-limits';
import { STORE_METRICS } from '@gwk/core/metrics/stores';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { Registry } from 'prom-client';
import type { Database } from '../database/database.js';
import type { StoreWatch } from '../media/store/watch.js';
import { observedGauge } from '../platform/metrics/gauge.js';
import type { Redis } from '../platform/redis.js';
import { resolvesWithin } from '@gwk/core/async/timeout';

export interface HealthOptions {
  db: Database;
  redis: Redis;
  media: Pick<StoreWatch, 'writable'>;
  /** Null: no /metrics here. One listener per process serves it and registers the readiness metric. */
  registry: Registry | null;
  draining: () => boolean;
  /** Whether responses close their connections (default: the listener closes them itself). */
  closing?: () => boolean;
}

const CHECK_MS = 2_000;
/** Concurrent probes share one query. */
const FRESH_MS = 500;

/**
 * Probes, without key and rate limit. /livez: the event loop runs. /readyz: the process can serve, with each check by name.
 * /metrics: for Prometheus.
 *
 * Readiness fails without Postgres and while stopping. It reports Redis and the media store but does not fail without them:
 * without Redis sends are delayed, and all replicas share the media store, so failing readiness would take all of them out
 * of service for uploads alone. The alert GwkMediaStoreUnavailable covers the media store.
 */
export function health(options: HealthOptions): RequestHandler {
  const { registry, closing = () => false } = options;
  const readiness = readinessOf(options);
  if (registry) observedGauge(registry, STORE_METRICS.ready, async () => Number((await readiness()).ready));
  const answers: Record<string, (res: ServerResponse) => Promise<void>> = {
    '/livez': (res) => sendJson(res, 200, { status: 'ok' }),
    '/readyz': async (res) => {
      const { ready, checks } = await readiness();
      return sendJson(res, ready ? 200 : 503, { status: ready ? 'ok' : 'unavailable', checks });
    },
    ...(registry && {
      '/metrics': async (res: ServerResponse) => {
        const text = await registry.metrics();
        send(res, 200, registry.contentType, text);
      },
    }),
  };
  return (req: Request, res: Response, next: NextFunction) => {
    const answer = req.method === 'GET' || req.method === 'HEAD' ? answers[req.url] : undefined;
    if (!answer) return next();
    if (closing()) res.setHeader('Connection', 'close');
    answer(res).catch(next);
  };
}

interface Readiness {
  ready: boolean;
  checks: Record<'postgres' | 'media' | 'redis' | 'process', string>;
}

function readinessOf({ db, redis, media, draining }: HealthOptions): () => Promise<Readiness> {
  const postgres = sharedCheck(() => db.$queryRaw`SELECT 1`);
  return async () => {
    const [answers, writable] = await Promise.all([postgres(), resolvesWithin(writableOf(media), CHECK_MS)]);
    const checks = {
      postgres: answers ? 'ok' : 'unreachable',
      media: writable ? 'ok' : 'not-writable',
      redis: redis.isReady ? 'ok' : 'unreachable',
      process: draining() ? 'stopping' : 'ok',
    };
    return { ready: checks.postgres === 'ok' && checks.process === 'ok', checks };
  };
}

async function writableOf(media: HealthOptions['media']): Promise<void> {
  if (!(await media.writable())) throw new Error('not writable');
}

function sharedCheck(look: () => Promise<unknown>): () => Promise<boolean> {
  let last: Promise<boolean> | undefined;
  let at = -Infinity;
  return () => {
    const now = performance.now();
    if (!last || now - at >= FRESH_MS) {
      at = now;
      last = resolvesWithin(look(), CHECK_MS);
    }
    return last;
  };
}

async function sendJson(res: ServerResponse, status: number, body: unknown): Promise<void> {
  send(res, status, 'application/json; charset=utf-8', JSON.stringify(body));
}

function send(res: ServerResponse, status: number, type: string, text: string): void {
  res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  res.end(text);
}

/** Starts a listener with /livez, /readyz and /metrics only. */
export function startHealthListener(
  address: { host: string; port: number },
  options: HealthOptions,
): Promise<Listener> {
  const answer = health(options);
  return startListener(address, (req, res) => {
    void answer(req as never, res as never, () => res.writeHead(404).end());
  });
}
