import type { RequestListener, ServerResponse } from 'node:http';

interface ProbeSources {
  /**
   * Checks by name. An engine that is not ready may be waiting for its lease. Redis and the network are reported,
   * but do not affect readiness.
   */
  ready: () => { ready: boolean; checks: Record<string, string> };
  metrics: () => Promise<string>;
}

/** Answers `/livez`, `/readyz` and `/metrics` of an engine on plain node:http. */
export function createProbeHandler(sources: ProbeSources): RequestListener {
  return (request, response) => {
    respond(sources, request.url ?? '/', response).catch(() => response.destroy());
  };
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
