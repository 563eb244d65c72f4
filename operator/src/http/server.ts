import { dropOldestConnections, LISTENER_LIMITS, IDLE_TIMEOUT_MS } from '@gwk/core/listener-limits';
import { type Logger } from '@gwk/core/log';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiStatus } from '../cluster/local/api-status.js';
import { sendJson, type Exchange } from './exchange.js';

/** Answers a request it knows; returns false for other paths. */
export type Handler = (exchange: Exchange) => Promise<boolean> | boolean;

export interface Listening {
  port: number;
  close(): Promise<void>;
}

/** Starts one listener for health, metrics and, on one machine, resources. */
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
  const exchange = parseRequest(request, response);
  try {
    for (const handler of handlers) if (await handler(exchange)) return;
    throw new ApiStatus('NotFound', 'the server could not find the requested resource');
  } catch (error) {
    const status = error instanceof ApiStatus ? error : new ApiStatus('InternalError', 'internal error');
    if (status !== error) log.error({ path: exchange.path, err: error }, 'request failed');
    if (response.headersSent) return void response.destroy();
    // The unread rest of the body would be parsed as the next request.
    if (!request.complete) response.setHeader('connection', 'close');
    sendJson(exchange, status.code, status);
  }
}

function parseRequest(request: IncomingMessage, response: ServerResponse): Exchange {
  const url = URL.parse(request.url ?? '/', 'http://operator');
  return {
    method: request.method ?? 'GET',
    path: url?.pathname ?? '/',
    query: url?.searchParams ?? new URLSearchParams(),
    request,
    response,
  };
}
