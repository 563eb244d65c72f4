import type { IncomingMessage, ServerResponse } from 'node:http';
import { startListener, type Listener } from './listener-limits.js';

export interface Readiness {
  ready: boolean;
  /** Checks by name. Not every check affects readiness. */
  checks: Record<string, string>;
}

export interface ProbeSources {
  readiness: () => Readiness | Promise<Readiness>;
  /** Text for Prometheus; undefined: no /metrics here. */
  metrics?: (() => Promise<string>) | undefined;
  /** Whether responses close their connections. Default: the listener closes them itself. */
  closing?: () => boolean;
}

/** Starts the answer to a probe. Undefined for any other request. */
type ProbeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | undefined;

/**
 * Probes, without key and rate limit. /livez: the event loop runs. /readyz: the process can serve, with each check by
 * name. /metrics: for Prometheus.
 */
export function createProbeHandler({ readiness, metrics, closing }: ProbeSources): ProbeHandler {
  const answers: Record<string, (response: ServerResponse) => Promise<void>> = {
    '/livez': async (response) => sendJson(response, 200, { status: 'ok' }),
    '/readyz': async (response) => {
      const { ready, checks } = await readiness();
      sendJson(response, ready ? 200 : 503, { status: ready ? 'ok' : 'unavailable', checks });
    },
    ...(metrics && {
      '/metrics': async (response) => send(response, 200, 'text/plain; version=0.0.4', await metrics()),
    }),
  };
  return ({ method, url = '/' }, response) => {
    const answer = method === 'GET' || method === 'HEAD' ? answers[url] : undefined;
    if (answer && closing?.()) response.setHeader('Connection', 'close');
    return answer?.(response);
  };
}

/** Starts a listener with /livez, /readyz and /metrics only. */
export function startProbeListener(
  address: { host: string; port: number },
  sources: ProbeSources,
): Promise<Listener> {
  const handle = createProbeHandler(sources);
  return startListener(address, (request, response) => {
    const answer = handle(request, response);
    if (answer) answer.catch(() => response.destroy());
    else sendJson(response, 404, { error: 'not-found' });
  });
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, 'application/json', JSON.stringify(body));
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  const headers = { 'content-type': `${type}; charset=utf-8`, 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, headers).end(text);
}
