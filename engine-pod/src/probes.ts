import type { Server, ServerResponse } from 'node:http';
import { dropOldestConnections, LISTENER_LIMITS, IDLE_TIMEOUT_MS } from '@gwk/core/listener-limits';
import { http } from '@gwk/core/node-http';

interface ProbeSources {
  /**
   * Checks by name. An engine that is not ready may be waiting for its lease. Redis and the network are reported,
   * but do not affect readiness.
   */
  ready: () => { ready: boolean; checks: Record<string, string> };
  metrics: () => Promise<string>;
}

/** Serves `/livez`, `/readyz` and `/metrics` of an engine on plain node:http. */
export function createProbeServer(sources: ProbeSources): Server {
  const server = http.createServer(LISTENER_LIMITS, (request, response) => {
    respond(sources, request.url ?? '/', response).catch(() => response.destroy());
  });
  server.setTimeout(IDLE_TIMEOUT_MS);
  dropOldestConnections(server);
  return server;
}

async function respond(sources: ProbeSources, url: string, response: ServerResponse): Promise<void> {
  switch (url.split('?', 1)[0]) {
    case '/livez':
      return json(response, 200, { status: 'ok' });
    case '/readyz': {
      const { ready, checks } = sources.ready();
      return json(response, ready ? 200 : 503, { status: ready ? 'ok' : 'unavailable', checks });
    }
    case '/metrics':
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
      response.end(await sources.metrics());
      return;
    default:
      return json(response, 404, { error: 'not-found' });
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
