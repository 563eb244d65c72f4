import type { ServerResponse } from 'node:http';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { Registry } from 'prom-client';
import type { Database } from '../database.js';
import type { Redis } from '../redis.js';

/**
 * /livez: the process turns. /readyz: it can serve; red without Postgres, green without Redis, which only delays.
 * /metrics: for Prometheus. No key, no counting, nothing of the public interface.
 */
export interface HealthOptions {
  db: Database;
  redis: Redis;
  /** Where /metrics is not shown: null. */
  registry: Registry | null;
  draining: () => boolean;
}

const CHECK_MS = 2_000;
/** Probes of many observers share one look at Postgres. */
const FRESH_MS = 500;

export function health(options: HealthOptions): RequestHandler {
  const { registry } = options;
  const postgres = sharedCheck(() => options.db.$queryRaw`SELECT 1`);
  const answers: Record<string, (res: ServerResponse) => Promise<void>> = {
    '/livez': (res) => sendJson(res, 200, { status: 'ok' }),
    '/readyz': (res) => readiness(options, postgres, res),
    ...(registry && {
      '/metrics': async (res: ServerResponse) => {
        const text = await registry.metrics();
        send(res, 200, registry.contentType, text);
      },
    }),
  };
  return (req: Request, res: Response, next: NextFunction) => {
    const answer = req.method === 'GET' || req.method === 'HEAD' ? answers[req.url] : undefined;
    if (!answer) next();
    else answer(res).catch(next);
  };
}

async function readiness(
  { redis, draining }: HealthOptions,
  postgres: () => Promise<boolean>,
  res: ServerResponse,
): Promise<void> {
  const checks = {
    postgres: (await postgres()) ? 'ok' : 'unreachable',
    redis: redis.isReady ? 'ok' : 'unreachable',
    process: draining() ? 'stopping' : 'ok',
  };
  const ready = checks.postgres === 'ok' && checks.process === 'ok';
  return sendJson(res, ready ? 200 : 503, { status: ready ? 'ok' : 'unavailable', checks });
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

function within(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), milliseconds);
    work
      .then(
        () => resolve(true),
        () => resolve(false),
      )
      .finally(() => clearTimeout(timer));
  });
}

async function sendJson(res: ServerResponse, status: number, body: unknown): Promise<void> {
  send(res, status, 'application/json; charset=utf-8', JSON.stringify(body));
}

function send(res: ServerResponse, status: number, type: string, text: string): void {
  res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  res.end(text);
}
