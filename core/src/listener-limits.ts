import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { keepUnsentResponses } from './unsent-responses.js';

/**
 * What a listener of ours (the internal port, the operator's, those of health and metrics) gives a client: its headers
 * within 10 s, its request as a whole within 60 s. Node looks after both every 30 s unless it is told otherwise, and
 * lets a TLS handshake take two minutes. The public listener has its own (api/src/public-api/server.ts).
 */
export const LISTENER_LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 2_000,
  /** Longer than clients keep a silent connection, so that they close it and never write into a closing one. */
  keepAliveTimeout: 75_000,
  maxHeaderSize: 16_384,
} as const;

/**
 * A connection under a request on which nothing moves for so long is closed (`server.setTimeout`), on every listener:
 * who asks and never reads would be held for good, with the answer. Any progress of a write counts. Longer than every
 * request may take until its answer, and than streams are silent. It costs a timer that is set back at each read and write.
 */
export const IDLE_TIMEOUT_MS = 60_000;

export const HANDSHAKE_TIMEOUT_MS = 10_000;

const SHED_EVERY_MS = 1_000;

/**
 * Beyond the bound Node closes what comes. Connections that say nothing between two requests are closed then, so that
 * who holds many of them keeps nobody out; those that have not said anything yet end with their headers' time. Of no
 * connection that is closed as idle an answer is lost that is still on its way.
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

/** Of a listener of health and metrics: probes and a few that scrape. */
export const MAX_HEALTH_CONNECTIONS = 256;

/**
 * The same where every request is short: beyond the bound the oldest goes. Who opens many takes the place of his own,
 * and a probe that comes is answered, so that nobody has a pod restarted by holding its port.
 */
export function dropOldestConnections(server: Server, maxConnections = MAX_HEALTH_CONNECTIONS): void {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    if (open.size >= maxConnections) drop(open);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
}

function drop(open: Set<Socket>): void {
  const [oldest] = open;
  open.delete(oldest!);
  oldest!.destroy();
}
