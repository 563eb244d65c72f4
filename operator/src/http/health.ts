import type { Registry } from 'prom-client';
import { sendJson, type Exchange } from './exchange.js';
import type { Handler } from './server.js';

/** Named checks: what is wrong, or null. */
export type Checks = () => Record<string, string | null>;

/** /livez while the process answers at all; /readyz once it does its work; both say which check fails. */
export function healthHandler(ready: Checks, metrics: Registry): Handler {
  return async (exchange) => {
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD') return false;
    if (exchange.path === '/livez') report(exchange, {});
    else if (exchange.path === '/readyz') report(exchange, ready());
    else if (exchange.path === '/metrics') await sendMetrics(exchange, metrics);
    else return false;
    return true;
  };
}

function report(exchange: Exchange, checks: Record<string, string | null>): void {
  const faulty = Object.values(checks).some((fault) => fault !== null);
  const shown = Object.entries(checks).map(([name, fault]) => [
    name,
    fault === null ? { ok: true } : { ok: false, message: fault },
  ]);
  sendJson(exchange, faulty ? 503 : 200, {
    status: faulty ? 'unavailable' : 'ok',
    checks: Object.fromEntries(shown) as Record<string, unknown>,
  });
}

async function sendMetrics({ response }: Exchange, metrics: Registry): Promise<void> {
  const text = await metrics.metrics();
  response.writeHead(200, { 'content-type': metrics.contentType });
  response.end(text);
}
