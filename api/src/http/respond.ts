import type { Clock } from '@gwk/core/clock';
import { buildProblemBody, type Problem } from '@gwk/core/problems';
import type { RateVerdict } from '../accounts/rate-limiter.js';
import type { Exchange, Reply } from './exchange.js';
import { endAfterListening, isLeftUnread } from './unread.js';

/** Answers, written in one piece: one writeHead with all headers, one body. */
export interface Answer {
  status: number;
  /** An object becomes JSON; text is JSON already, bytes are sent as they are. Undefined: no body. */
  body?: unknown;
  /** Media type of the body; JSON where absent. */
  type?: string;
  /** Names and values, one after the other. */
  headers?: readonly string[];
  /** In place of a body: events, for as long as there are some. */
  stream?: EventProducer;
  /** From then on a kept answer says this in place of the body: it holds a code that has run out. */
  expiring?: { at: Date; bodyAfter: unknown };
}

/**
 * Server-sent events: an answer that goes on. It ends when its producer ends it, when the client goes, and when this
 * process stops.
 */
export interface EventStream {
  send(event: string, data: unknown): void;
  /** Aborted once nobody listens any more. */
  readonly signal: AbortSignal;
}

export type EventProducer = (out: EventStream) => Promise<void>;

/** What the whole public tier does after each answer. */
export interface Observer {
  answered(req: Exchange, status: number): void;
  /** True while the process is stopping: connections are not to be used again. */
  readonly closing: boolean;
  /** By which answers that go on, or whose request does, come to their end. */
  readonly clock: Clock;
}

const JSON_TYPE = 'application/json; charset=utf-8';
/** Without parameters: JSON is UTF-8, and clients compare. */
export const PROBLEM_TYPE = 'application/problem+json';

/**
 * Answered to nobody: for metrics and the access log alone, of the internal port too. On the public one it is seen a
 * moment later, by whoever looks after all (InFlight).
 */
export const CLIENT_GONE = 499;

/** Nothing happens where the request has been answered already (a deadline) or the client is gone. */
export function respond(req: Exchange, res: Reply, answer: Answer, observer: Observer): void {
  write(req, res, { ...answer, type: answer.type ?? JSON_TYPE }, observer);
}

export function respondProblem(
  req: Exchange,
  res: Reply,
  problem: Problem,
  options: { docsUrl: string; observer: Observer; headers?: readonly string[] },
): void {
  const path = pathOf(req.originalUrl ?? req.url);
  const body = buildProblemBody(problem, { docsUrl: options.docsUrl, path, requestId: req.requestId });
  const { retryAfter } = problem.extras;
  const headers = [...(options.headers ?? [])];
  if (retryAfter !== undefined) headers.push('Retry-After', String(Math.max(1, Math.ceil(retryAfter))));
  if (problem.status === 401) headers.push('WWW-Authenticate', 'Bearer');
  req.refusal = problem.code;
  write(req, res, { status: problem.status, body, headers, type: PROBLEM_TYPE }, options.observer);
}

function write(req: Exchange, res: Reply, answer: Answer & { type: string }, observer: Observer): void {
  if (res.headersSent || res.destroyed) return;
  const unread = isLeftUnread(req);
  const headers = ['X-Request-ID', req.requestId];
  if (req.rate) pushRate(headers, req.rate);
  if (answer.headers) headers.push(...answer.headers);
  if (observer.closing || unread) headers.push('Connection', 'close');
  let content: string | Uint8Array | undefined;
  if (answer.body !== undefined) {
    content = contentOf(answer.body);
    headers.push('Content-Type', answer.type, 'Content-Length', String(Buffer.byteLength(content)));
  } else if (answer.status !== 204) {
    headers.push('Content-Length', '0');
  }
  res.writeHead(answer.status, headers);
  if (unread) endAfterListening(req, res, content, observer.clock);
  else res.end(content);
  observer.answered(req, answer.status);
}

const contentOf = (body: unknown): string | Uint8Array =>
  typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);

/** (spec: Rate limiting) On every response, whatever it says. */
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

/** The path without its query, as it was sent. */
export function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
