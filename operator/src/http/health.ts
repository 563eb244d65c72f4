import type { Registry } from 'prom-client';
import { sendJson, type Exchange, type Handler } from './server.js';

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
