import { startListener, type Listener } from '@gwk/core/http/listener-limits';
import { type Logger } from '@gwk/core/process/log';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';

/** A request and its response, for handlers. */
export interface Exchange {
  path: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** Answers a request it knows; returns false for other paths. */
export type Handler = (exchange: Exchange) => Promise<boolean> | boolean;

/** Starts one listener for health, metrics and, on one machine, the desired state. */
export function listen(
  address: { host: string; port: number },
  handlers: Handler[],
  log: Logger,
  idleTimeoutMs?: number,
): Promise<Listener> {
  const handle = (request: IncomingMessage, response: ServerResponse) =>
    void answer(request, response, handlers, log);
  return startListener(address, handle, idleTimeoutMs);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  handlers: Handler[],
  log: Logger,
): Promise<void> {
  const path = URL.parse(request.url ?? '/', 'http://operator')?.pathname ?? '/';
  const exchange = { path, request, response };
  try {
    for (const handler of handlers) if (await handler(exchange)) return;
    sendJson(exchange, 404, { error: 'not found' });
  } catch (error) {
    log.error({ path, err: error }, 'request failed');
    if (response.headersSent) return void response.destroy();
    sendJson(exchange, 500, { error: 'internal error' });
  }
}

export function sendJson({ request, response }: Exchange, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    // The unread rest of the body would be parsed as the next request.
    ...(!request.complete && { connection: 'close' }),
  });
  response.end(text);
}

/** Checks by name; null means healthy. */
type Checks = () => Record<string, string | null>;

/** /livez: the process answers. /readyz: it does its work. Both name the failing check. */
export function createHealthHandler(ready: Checks, metrics: Registry): Handler {
  return async (exchange) => {
    if (!['GET', 'HEAD'].includes(exchange.request.method!)) return false;
    if (exchange.path === '/livez') report(exchange, {});
    else if (exchange.path === '/readyz') report(exchange, ready());
    else if (exchange.path === '/metrics') await sendMetrics(exchange, metrics);
    else return false;
    return true;
  };
}

function report(exchange: Exchange, checks: Record<string, string | null>): void {
  const unhealthy = Object.values(checks).some((fault) => fault !== null);
  const entries = Object.entries(checks).map(([name, fault]) => [
    name,
    fault === null ? { ok: true } : { ok: false, message: fault },
  ]);
  sendJson(exchange, unhealthy ? 503 : 200, {
    status: unhealthy ? 'unavailable' : 'ok',
    checks: Object.fromEntries(entries) as Record<string, unknown>,
  });
}

async function sendMetrics({ response }: Exchange, metrics: Registry): Promise<void> {
  const text = await metrics.metrics();
  response.writeHead(200, { 'content-type': metrics.contentType });
  response.end(text);
}
