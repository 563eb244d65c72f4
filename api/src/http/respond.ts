import { pipeline } from 'node:stream/promises';
import { countStreamed } from '../platform/buffers.js';
import type { Clock } from '@gwk/core/clock';
import type { Exchange, Reply } from './exchange.js';

/** An answer, which is written at once: one writeHead with all headers, one body. */
export interface Answer {
  status: number;
  /** An object is serialised as JSON; a string is JSON already; bytes are sent unchanged. Undefined: no body. */
  body?: unknown;
  /** Media type of the body (default: JSON). */
  type?: string;
  /** Names and values in turn. */
  headers?: readonly string[];
  /** Text in parts, written as the client reads it, instead of a body. */
  chunks?: AsyncIterable<string>;
  /** Producer of server-sent events, instead of a body. */
  stream?: EventProducer;
  /** When the code in the body expires, and the body that replaces it in a stored answer. */
  expiring?: { at: Date; bodyAfter: unknown };
}

/**
 * A stream of server-sent events. It ends with its producer, when the client disconnects, and when this process stops.
 */
export interface EventStream {
  /** @param id from which a client continues, in its header `Last-Event-ID` */
  send(event: string, data: unknown, id?: string): void;
  /** Sends an id without an event. */
  mark(id: string): void;
  /** Waits while the client reads. False: it reads too slowly, or the stream has ended. */
  drained(): Promise<boolean>;
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
  const headers = commonHeaders(req);
  if (answer.headers) headers.push(...answer.headers);
  if (req.session) forbidStoring(headers);
  if (observer.closing || unread) headers.push('Connection', 'close');
  if (answer.chunks)
    return respondInChunks(res, { ...answer, headers }, answer.chunks, () =>
      observer.answered(req, answer.status),
    );
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

/** An error closes the connection, so that the client does not take a part for the whole. */
function respondInChunks(
  res: Reply,
  { status, type, headers }: Answer & { headers: readonly string[] },
  chunks: AsyncIterable<string>,
  answered: () => void,
): void {
  res.writeHead(status, [...headers, 'Content-Type', type ?? JSON_TYPE]);
  void pipeline(chunks, res).catch(() => res.destroy());
  answered();
}

/** Browsers and proxies must not keep the answers to a signed-in person. */
function forbidStoring(headers: string[]): void {
  if (!headers.includes('Cache-Control')) headers.push('Cache-Control', 'no-store');
}

const contentOf = (body: unknown): string | Uint8Array =>
  typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);

/** Returns the headers of every answer. */
export function commonHeaders({ requestId, rate }: Exchange): string[] {
  const headers = ['X-Request-ID', requestId];
  if (rate) {
    headers.push('RateLimit-Limit', String(rate.limit));
    headers.push('RateLimit-Remaining', String(rate.remaining));
    headers.push('RateLimit-Reset', String(rate.reset));
  }
  return headers;
}

/** Returns the path without its query, unchanged otherwise. */
export function stripQuery(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/**
 * Largest body that Node itself discards after an early answer; it keeps the connection. After a larger one the connection
 * closes.
 */
const SMALL_BYTES = 65_536;
const DISCARD_MS = 2_000;

/** Whether the request is answered before its large body has arrived, so that its connection must close. */
function hasUnreadBody(req: Exchange): boolean {
  if (req.complete) return false;
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || Number(length ?? 0) > SMALL_BYTES;
}

/**
 * Writes the answer, discards incoming bytes for 2 s, then closes the connection. Closing at once would reset it, and the
 * client might not see the answer. From the announced length the client knows the end of the answer.
 */
function endAfterDraining(
  req: Exchange,
  res: Reply,
  content: string | Uint8Array | undefined,
  clock: Clock,
): void {
  if (content === undefined) res.flushHeaders();
  else res.write(content);
  const cancel = clock.after(DISCARD_MS, end);
  function end(): void {
    cancel();
    if (!res.writableEnded) res.end();
    if (!req.complete) req.socket.destroySoon();
  }
  req.on('end', end);
  req.on('error', end);
  res.on('close', cancel);
  // Discarded buffers are garbage that V8 does not count.
  req.on('data', ({ length }: Buffer) => countStreamed(length));
}
