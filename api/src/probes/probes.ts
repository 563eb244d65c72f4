import type { ServerResponse } from 'node:http';
import { STORE_METRICS } from '@gwk/core/metrics/stores';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { Registry } from 'prom-client';
import type { Database } from '../database/database.js';
import type { StoreWatch } from '../media/store/watch.js';
import { observedGauge } from '../platform/metrics/gauge.js';
import type { Redis } from '../platform/redis.js';
import { within } from '../platform/with-timeout.js';

/**
 * /livez: the process turns. /readyz: it can serve, with every check by its name. /metrics: for Prometheus. No key, no
 * counting, nothing of the public interface.
 *
 * Red without Postgres, and while stopping. Green, and told, without what only a part of the work needs: Redis, whose
 * loss delays; and the store of files, which all replicas share. Red for its sake would take every replica away at
 * once, and with them texts, reads and engines that need no file; only uploads would fail, which answer for
 * themselves (500, to be repeated). It is for an alert (GwkMediaStoreUnavailable) to call somebody.
 */
export interface HealthOptions {
  db: Database;
  redis: Redis;
  media: Pick<StoreWatch, 'writable'>;
  /** Where /metrics is not shown: null. Shown by one listener alone, which tells it of readiness. */
  registry: Registry | null;
  draining: () => boolean;
  /** Connections are not to be used again; left out where their listener ends them by itself. */
  closing?: () => boolean;
}

const CHECK_MS = 2_000;
/** Probes of many observers share one look at Postgres. */
const FRESH_MS = 500;

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
    const [answers, writable] = await Promise.all([postgres(), within(writableOf(media), CHECK_MS)]);
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
      last = within(look(), CHECK_MS);
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
