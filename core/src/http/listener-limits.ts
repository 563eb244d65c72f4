import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { getNetwork } from './client-network.js';
import { http } from './node-http.js';

/**
 * Limits of the listeners of the internal API, the operator, and health and metrics. A client must send its headers
 * within 10 s and its whole request within 60 s. Node checks both every 30 s by default, and allows 2 minutes for a TLS
 * handshake. The public listener has its own limits (api/src/public-api/server.ts).
 */
export const LISTENER_LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 2_000,
  /** Longer than clients keep idle connections, so that they never write to a connection that the server closes. */
  keepAliveTimeout: 75_000,
  maxHeaderSize: 16_384,
} as const;

/**
 * Idle timeout of a connection with an open request (`server.setTimeout`), on every listener. Otherwise a client that
 * never reads would occupy the connection and the response forever. Each read and each partial write resets the timer.
 * It is longer than any request takes to its response, and than the pauses of streams.
 */
export const IDLE_TIMEOUT_MS = 60_000;

export const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Time for the rest of a request to arrive after its response has left. */
export const LATE_REQUEST_MS = 2_000;

/**
 * Closes a connection whose request is still incomplete 2 s after its response. Otherwise a client without a key could send
 * the announced body a byte a minute and occupy the connection for as long as it likes.
 */
function endLateRequests(server: Server): void {
  server.on('request', (_: IncomingMessage, response: ServerResponse) =>
    response.on('finish', endIfIncomplete),
  );
}

function endIfIncomplete(this: ServerResponse): void {
  const { req } = this;
  // Null if the client has disconnected.
  const socket = req.socket as Socket | null;
  if (req.complete || socket === null) return;
  setTimeout(() => req.complete || socket.destroy(), LATE_REQUEST_MS).unref();
}

/**
 * Length of the kernel's queue of new connections (default of Node: 511). libuv accepts one connection in each turn of the
 * event loop, so a busy process takes seconds to accept a burst. When the queue is full, clients connect only after they
 * retry, with delays that double. The kernel caps it at net.core.somaxconn.
 */
export const BACKLOG = 4_096;

const SHED_EVERY_MS = 1_000;

/**
 * At the limit Node closes new connections. The server then also closes connections that are idle between two requests,
 * so that a client with many of them excludes nobody. Connections without a first request end with the headers timeout.
 * Closing an idle connection never cuts off a response that is still being sent.
 * @param perAddress connections of one address, or of one /64 of IPv6 (default: no limit); the server closes further
 *   ones at once
 */
export function limitConnections(server: Server, maxConnections: number, perAddress = Infinity): void {
  server.maxConnections = maxConnections;
  keepUnsentResponses(server);
  endLateRequests(server);
  if (perAddress < Infinity) limitAddresses(server, perAddress);
  let shedAt = -Infinity;
  server.on('drop', () => {
    if (performance.now() - shedAt < SHED_EVERY_MS) return;
    shedAt = performance.now();
    server.closeIdleConnections();
  });
}

/**
 * Makes `server.closeIdleConnections` (which `server.close` also calls) keep connections with an unsent response. Node
 * treats a request as finished once the response is written completely, even if part of it is still in this process's
 * memory. A slow reader would get a truncated file.
 *
 * Such a connection becomes idle when its response is sent, so a shutdown must call `closeIdleConnections` repeatedly.
 */
function keepUnsentResponses(server: Server): void {
  const open = new Set<Socket>();
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    const unsent = [...open].filter(({ writableLength }) => writableLength > 0);
    // Only Node knows which connections are idle, and it closes them synchronously. So `destroy` is replaced meanwhile.
    for (const socket of unsent) socket.destroy = () => socket;
    try {
      closeIdle();
    } finally {
      for (const socket of unsent) Reflect.deleteProperty(socket, 'destroy');
    }
  };
}

function limitAddresses(server: Server, perAddress: number): void {
  const open = new Map<string, number>();
  server.on('connection', (socket) => {
    const network = getNetwork(socket.remoteAddress ?? '');
    const count = (open.get(network) ?? 0) + 1;
    if (count > perAddress) return socket.destroy();
    open.set(network, count);
    socket.once('close', () => {
      const left = open.get(network)! - 1;
      if (left > 0) open.set(network, left);
      else open.delete(network);
    });
  });
}

/** For a listener of health and metrics: probes and a few scrapers. */
export const MAX_HEALTH_CONNECTIONS = 256;

/**
 * For listeners with short requests: at the limit, a new connection replaces the oldest one. A client that opens many
 * connections replaces its own, and probes still get an answer, so nobody can make the kubelet restart the pod.
 */
function dropOldestConnections(server: Server): void {
  const open = new Set<Socket>();
  endLateRequests(server);
  server.on('connection', (socket) => {
    if (open.size >= MAX_HEALTH_CONNECTIONS) destroyOldest(open);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
}

export interface Listener {
  port: number;
  close(): Promise<void>;
}

/**
 * Starts a listener of short requests, such as health and metrics, with these limits.
 * @throws the error of listening, for example EADDRINUSE
 */
export async function startListener(
  { host, port }: { host: string; port: number },
  handle: RequestListener,
  idleTimeoutMs = IDLE_TIMEOUT_MS,
): Promise<Listener> {
  const server = http.createServer(LISTENER_LIMITS, handle);
  server.setTimeout(idleTimeoutMs);
  dropOldestConnections(server);
  await once(server.listen(port, host, BACKLOG), 'listening');
  const close = (resolve: () => void): void => {
    server.close(() => resolve());
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, close: () => new Promise(close) };
}

function destroyOldest(open: Set<Socket>): void {
  const [oldest] = open;
  open.delete(oldest!);
  oldest!.destroy();
}
