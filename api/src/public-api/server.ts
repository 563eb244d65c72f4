import http from 'node:http';
import type { Socket } from 'node:net';
import type { Express } from 'express';
import { longestTransferMs } from '@gwk/core/resources/media';
import { limitConnections, IDLE_TIMEOUT_MS } from '@gwk/core/http/listener-limits';
import type { Exchange, Reply } from '../http/exchange.js';

const HEADERS_TIMEOUT_MS = 10_000;
/** Longer than the idle limit of common load balancers (60 s), so that they close connections and this server does not close them during a request. */
const KEEP_ALIVE_MS = 75_000;
const LOOK_AT_TIMEOUTS_MS = 1_000;
const MAX_HEADER_BYTES = 16_384;

type Constructor<T> = (this: T, ...args: unknown[]) => void;

interface ServerOptions {
  app: Express;
  /** Handles errors that Node reports before Express sees a request. */
  clientError: (error: NodeJS.ErrnoException, socket: Socket) => void;
  /** Handles every error of the app. */
  failed: (error: unknown, req: Exchange, res: Reply) => void;
  /** Time limit of an upload (default: 15 minutes); other requests have 20 s (in-flight.ts). */
  uploadTimeoutMs?: number;
  maxConnections: number;
  /** Connections of one address (default: no limit). */
  maxConnectionsPerAddress?: number;
}

/**
 * An HTTP server that creates requests and responses with Express's prototypes. Otherwise Express changes the prototype of
 * each one, and V8 handles such objects slowly: about 0.4 of the throughput.
 * This relies on Node's classes being plain functions (server.integration.test.ts).
 */
export function createServer({ app, clientError, failed, ...limits }: ServerOptions): http.Server {
  const server = http.createServer(
    {
      IncomingMessage: requestClass(app) as never,
      ServerResponse: responseClass(app) as never,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: limits.uploadTimeoutMs ?? longestTransferMs(0),
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: LOOK_AT_TIMEOUTS_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      noDelay: true,
      // The API does not use the Host header; Node would answer 400 without a body.
      requireHostHeader: false,
    },
    (req, res) => {
      const exchange = req as Exchange;
      const reply = res as Reply;
      // With a final handler, Express does not create one per request.
      app(exchange, reply, (error: unknown) => failed(error, exchange, reply));
    },
  );
  limitConnections(server, limits.maxConnections, limits.maxConnectionsPerAddress);
  server.setTimeout(IDLE_TIMEOUT_MS);
  server.on('clientError', clientError);
  // Node would answer 417 without a body; RFC 9110 allows a server to ignore the expectation.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  return server;
}

function requestClass(app: Express): unknown {
  const base = http.IncomingMessage as unknown as Constructor<Exchange>;
  function GatewayRequest(this: Exchange, socket: Socket): void {
    base.call(this, socket);
    this.requestId = '';
    this.caller = null;
    this.session = null;
    this.rate = null;
    this.operation = null;
    this.arrivedAt = 0;
    this.workingSince = 0;
    this.inFlight = null;
    this.subject = null;
    this.refusal = null;
    this.traceparent = null;
  }
  GatewayRequest.prototype = app.request;
  return derived(GatewayRequest, base);
}

function responseClass(app: Express): unknown {
  const base = http.ServerResponse as unknown as Constructor<Reply>;
  function GatewayResponse(this: Reply, req: unknown, options: unknown): void {
    base.call(this, req, options);
    // Express would create this object for every response; this API does not use it.
    this.locals = NO_LOCALS;
  }
  GatewayResponse.prototype = app.response;
  return derived(GatewayResponse, base);
}

/**
 * V8 reserves space in an object for the fields of all constructors in its class chain. Without space for those of Node, a
 * response became a dictionary-mode object: 5.6 kB instead of 0.8, and slow (server.integration.test.ts).
 */
const derived = (constructor: object, base: object): object =>
  Object.setPrototypeOf(constructor, base) as object;

const NO_LOCALS = Object.freeze(Object.create(null) as Record<string, never>);
