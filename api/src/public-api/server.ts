import http from 'node:http';
import type { Socket } from 'node:net';
import type { Express } from 'express';
import { limitConnections, IDLE_TIMEOUT_MS } from '@gwk/core/listener-limits';
import type { Listener } from './direct.js';
import type { Exchange, Reply } from '../http/exchange.js';

/**
 * An HTTP server whose requests and responses are Express's from birth. Express gives every request a new prototype
 * otherwise, and an object whose prototype changes is slow in everything that follows: about 0.4 of the throughput.
 * Node's classes are still functions, which this relies on (server.integration.test.ts).
 */
const HEADERS_TIMEOUT_MS = 10_000;
/** Of an upload; others get 20 s (in-flight.ts). */
const REQUEST_TIMEOUT_MS = 900_000;
/** Longer than that of the usual balancers (60 s): they close idle connections, not we under their requests. */
const KEEP_ALIVE_MS = 75_000;
const LOOK_AT_TIMEOUTS_MS = 1_000;
const MAX_HEADER_BYTES = 16_384;

type Constructor<T> = (this: T, ...args: unknown[]) => void;

export interface ServerOptions {
  app: Express;
  /** In place of the app, where some requests do not go through it. */
  listener?: Listener;
  /** Errors that Express does not even see. */
  clientError: (error: NodeJS.ErrnoException, socket: Socket) => void;
  lastResort: (error: unknown, req: Exchange, res: Reply) => void;
  maxConnections: number;
  /** Of the headers; 10 s where absent. */
  headersTimeoutMs?: number;
  /** Without a byte under a request; 60 s where absent. */
  silenceMs?: number;
}

export function createServer({
  app,
  listener,
  clientError,
  lastResort,
  maxConnections,
  headersTimeoutMs = HEADERS_TIMEOUT_MS,
  silenceMs = IDLE_TIMEOUT_MS,
}: ServerOptions): http.Server {
  const answer: Listener = listener ?? ((req, res, last) => app(req, res, last));
  const server = http.createServer(
    {
      IncomingMessage: requestClass(app) as never,
      ServerResponse: responseClass(app) as never,
      headersTimeout: headersTimeoutMs,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: LOOK_AT_TIMEOUTS_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      noDelay: true,
      // Nothing here goes by it; Node would answer 400 without a word.
      requireHostHeader: false,
    },
    (req, res) => {
      const exchange = req as Exchange;
      const reply = res as Reply;
      // With a last handler given, Express makes none of its own for each request.
      answer(exchange, reply, (error: unknown) => lastResort(error, exchange, reply));
    },
  );
  limitConnections(server, maxConnections);
  server.setTimeout(silenceMs);
  server.on('clientError', clientError);
  // Node would answer 417 without a word; an expectation may as well be ignored.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  return server;
}

function requestClass(app: Express): unknown {
  const base = http.IncomingMessage as unknown as Constructor<Exchange>;
  function GatewayRequest(this: Exchange, socket: Socket): void {
    base.call(this, socket);
    this.requestId = '';
    this.caller = null;
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
    // Express would make this object for every response; nothing here uses it.
    this.locals = NO_LOCALS;
  }
  GatewayResponse.prototype = app.response;
  return derived(GatewayResponse, base);
}

/**
 * V8 makes room in an object for the fields of all constructors that its own descends from. Without room for those of
 * Node's a response became a dictionary: 5.6 kB in place of 0.8, and slow in everything that follows (server.integration.test.ts).
 */
const derived = (constructor: object, base: object): object =>
  Object.setPrototypeOf(constructor, base) as object;

const NO_LOCALS = Object.freeze(Object.create(null) as Record<string, never>);
