import { dropOldestConnections, LISTENER_LIMITS, IDLE_TIMEOUT_MS } from '@gwk/core/listener-limits';
import { type Logger } from '@gwk/core/log';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request and its response, for handlers. */
export interface Exchange {
  path: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** Answers a request it knows; returns false for other paths. */
export type Handler = (exchange: Exchange) => Promise<boolean> | boolean;

export interface Listening {
  port: number;
  close(): Promise<void>;
}

/** Starts one listener for health, metrics and, on one machine, the desired state. */
export async function listen(
  address: { host: string; port: number },
  handlers: Handler[],
  log: Logger,
  silenceMs = IDLE_TIMEOUT_MS,
): Promise<Listening> {
  const server = createServer(
    LISTENER_LIMITS,
    (request, response) => void answer(request, response, handlers, log),
  );
  server.setTimeout(silenceMs);
  dropOldestConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: address.host, port: address.port }, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
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
