import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
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
export class ProbeListener {
  readonly #server: Server;

  constructor(checks: ProbeSources) {
    this.#server = http.createServer(LISTENER_LIMITS, (request, response) => {
      respond(checks, request.url ?? '/', response).catch(() => response.destroy());
    });
    this.#server.setTimeout(IDLE_TIMEOUT_MS);
    dropOldestConnections(this.#server);
  }

  /** @throws the error of listening, for example EADDRINUSE */
  async listen(host: string, port: number): Promise<number> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

async function respond(checks: ProbeSources, url: string, response: ServerResponse): Promise<void> {
  switch (url.split('?', 1)[0]) {
    case '/livez':
      return json(response, 200, { status: 'ok' });
    case '/readyz': {
      const { ready, checks: named } = checks.ready();
      return json(response, ready ? 200 : 503, { status: ready ? 'ok' : 'unavailable', checks: named });
    }
    case '/metrics':
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
      response.end(await checks.metrics());
      return;
    default:
      return json(response, 404, { error: 'not-found' });
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
