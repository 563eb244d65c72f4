import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { keepUnsentResponses } from './unsent-responses.js';

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

const SHED_EVERY_MS = 1_000;

/**
 * At the limit Node closes new connections. The server then also closes connections that are idle between two requests,
 * so that a client with many of them excludes nobody. Connections without a first request end with the headers timeout.
 * Closing an idle connection never cuts off a response that is still being sent.
 */
export function limitConnections(server: Server, maxConnections: number): void {
  server.maxConnections = maxConnections;
  keepUnsentResponses(server);
  let shedAt = -Infinity;
  server.on('drop', () => {
    if (performance.now() - shedAt < SHED_EVERY_MS) return;
    shedAt = performance.now();
    server.closeIdleConnections();
  });
}

/** For a listener of health and metrics: probes and a few scrapers. */
export const MAX_HEALTH_CONNECTIONS = 256;

/**
 * For listeners with short requests: at the limit, a new connection replaces the oldest one. A client that opens many
 * connections replaces its own, and probes still get an answer, so nobody can make the kubelet restart the pod.
 */
export function dropOldestConnections(server: Server, maxConnections = MAX_HEALTH_CONNECTIONS): void {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    if (open.size >= maxConnections) destroyOldest(open);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
}

function destroyOldest(open: Set<Socket>): void {
  const [oldest] = open;
  open.delete(oldest!);
  oldest!.destroy();
}
