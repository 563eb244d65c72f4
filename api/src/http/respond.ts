import type { Clock } from '@gwk/core/clock';
import type { RateVerdict } from '../accounts/rate-limiter.js';
import type { Exchange, Reply } from './exchange.js';
import { endAfterDraining, hasUnreadBody } from './unread-body.js';

/** An answer, which is written at once: one writeHead with all headers, one body. */
export interface Answer {
  status: number;
  /** An object is serialised as JSON; a string is JSON already; bytes are sent unchanged. Undefined: no body. */
  body?: unknown;
  /** Media type of the body (default: JSON). */
  type?: string;
  /** Names and values in turn. */
  headers?: readonly string[];
  /** Producer of server-sent events, instead of a body. */
  stream?: EventProducer;
  /** When the code in the body expires, and the body that replaces it in a stored answer. */
  expiring?: { at: Date; bodyAfter: unknown };
}

/**
 * A stream of server-sent events. It ends with its producer, when the client disconnects, and when this process stops.
 */
export interface EventStream {
  send(event: string, data: unknown): void;
  /** Aborted when the stream has ended. */
  readonly signal: AbortSignal;
}

export type EventProducer = (out: EventStream) => Promise<void>;

/** Receives each answer of the public listener. */
export interface Observer {
  answered(req: Exchange, status: number): void;
  /** True while the process is stopping: connections close after the current answer. */
  readonly closing: boolean;
  /** Clock of the time limits of streams and of unread bodies. */
  readonly clock: Clock;
}

const JSON_TYPE = 'application/json; charset=utf-8';
/** Without a charset, because clients compare the exact string. */
export const PROBLEM_TYPE = 'application/problem+json';

/**
 * Status of a request whose client disconnected, for metrics and access logs only (public and internal API). The public
 * API notices it at the next check of InFlight.
 */
export const CLIENT_GONE = 499;

/** Does nothing if the request has been answered already (by a time limit) or the client has disconnected. */
export function respond(req: Exchange, res: Reply, answer: Answer, observer: Observer): void {
  if (res.headersSent || res.destroyed) return;
  const unread = hasUnreadBody(req);
  const headers = ['X-Request-ID', req.requestId];
  if (req.rate) pushRate(headers, req.rate);
  if (answer.headers) headers.push(...answer.headers);
  if (observer.closing || unread) headers.push('Connection', 'close');
  let content: string | Uint8Array | undefined;
  if (answer.body !== undefined) {
    content = contentOf(answer.body);
    headers.push('Content-Type', answer.type ?? JSON_TYPE);
    headers.push('Content-Length', String(Buffer.byteLength(content)));
  } else if (answer.status !== 204) {
    headers.push('Content-Length', '0');
  }
  res.writeHead(answer.status, headers);
  if (unread) endAfterDraining(req, res, content, observer.clock);
  else res.end(content);
  observer.answered(req, answer.status);
}

const contentOf = (body: unknown): string | Uint8Array =>
  typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);

/** Adds the rate limit headers, which every response has. */
export function pushRate(headers: string[], rate: RateVerdict): void {
  headers.push(
    'RateLimit-Limit',
    String(rate.limit),
    'RateLimit-Remaining',
    String(rate.remaining),
    'RateLimit-Reset',
    String(rate.reset),
  );
}

/** Returns the path without its query, unchanged otherwise. */
export function stripQuery(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
