import type { Dispatcher } from 'undici';
import type { Called, Prepared } from './types.js';

/** So much of an answer is read and kept; what follows is cut off with its connection. */
const MAX_RESPONSE_BYTES = 20_000;

/** Why a call was broken off from here. */
class CallTimeout extends Error {
  override name = 'CallTimeout';
}
/** Ends a call that takes too long. @returns what forgets it */
export type StartTimeout = (end: () => void, ms: number) => () => void;

const startTimeout: StartTimeout = (end, ms) => {
  const timer = setTimeout(end, ms);
  return () => clearTimeout(timer);
};

export class WorkerStopping extends Error {
  override name = 'WorkerStopping';
}
const NOTHING = Buffer.alloc(0);
const LONG_ENOUGH = new Error('the answer is longer than what is kept of it');

type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/**
 * One attempt. The time-out bounds it as a whole: connecting, waiting, and reading a body that trickles. An answer
 * counts once it is complete, or longer than what is kept of it.
 *
 * It is what the dispatcher reports to: a stream for each answer and a signal for each call would cost a worker as much
 * as all else that it does for a delivery, and answers are short.
 */
export class Call implements Dispatcher.DispatchHandler {
  /** @throws WorkerStopping where it was broken off for that; every other end is a result */
  readonly called: Promise<Called>;
  readonly #prepared: Prepared;
  readonly #start = performance.now();
  readonly #clearTimeout: () => void;
  #resolve!: (called: Called) => void;
  #reject!: (error: Error) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #ended = false;
  /** Of a call that was broken off. */
  #reason: Error | undefined;
  #statusCode = 0;
  #retryAfter: string | null = null;
  #response: Buffer = NOTHING;
  #size = 0;

  constructor(prepared: Prepared, dispatcher: Dispatcher, timeoutMs: number, start = startTimeout) {
    this.#prepared = prepared;
    this.called = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#clearTimeout = start(
      () => this.breakOff(new CallTimeout(`no complete answer within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    const { url, headers, body } = prepared;
    const path = `${url.pathname}${url.search}`;
    try {
      dispatcher.dispatch({ origin: url.origin, path, method: 'POST', headers, body }, this);
    } catch (cause) {
      this.onResponseError(undefined, cause as Error);
    }
  }

  /** Ends the call now. What has an end already keeps it. */
  breakOff(reason: CallTimeout | WorkerStopping): void {
    if (!this.#end()) return;
    this.#reason = reason;
    if (reason instanceof WorkerStopping) this.#reject(reason);
    else this.#fail(reason.message);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // While it was waiting for a connection.
    if (this.#reason) controller.abort(this.#reason);
  }

  onResponseStart(_: Dispatcher.DispatchController, statusCode: number, headers: Headers): void {
    if (statusCode < 200) return;
    this.#statusCode = statusCode;
    this.#retryAfter = one(headers['retry-after']);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#keep(chunk);
    if (this.#size < MAX_RESPONSE_BYTES) return;
    this.#answer();
    controller.abort(LONG_ENOUGH);
  }

  onResponseEnd(): void {
    this.#answer();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, cause: Error): void {
    if (this.#end()) this.#fail(describeFailure(cause));
  }

  /** In bytes of its own: an answer may come as one chunk for each of its bytes, and each would be an object. */
  #keep(chunk: Buffer): void {
    const size = Math.min(this.#size + chunk.length, MAX_RESPONSE_BYTES);
    if (size > this.#response.length) {
      const longer = Buffer.allocUnsafe(this.#size === 0 ? size : MAX_RESPONSE_BYTES);
      this.#response.copy(longer);
      this.#response = longer;
    }
    chunk.copy(this.#response, this.#size);
    this.#size = size;
  }

  /** @returns whether it had not ended before */
  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#clearTimeout();
    return true;
  }

  #answer(): void {
    if (!this.#end()) return;
    const statusCode = this.#statusCode;
    const error = statusCode >= 200 && statusCode < 300 ? null : `answered ${statusCode}`;
    const response = this.#response.subarray(0, this.#size);
    this.#tell({ statusCode, error, retryAfter: this.#retryAfter, response });
  }

  #fail(error: string): void {
    this.#tell({ statusCode: null, error, retryAfter: null, response: null });
  }

  #tell(rest: Omit<Called, 'claimed' | 'latencyMs'>): void {
    const latencyMs = Math.round(performance.now() - this.#start);
    this.#resolve({ claimed: this.#prepared.claimed, latencyMs, ...rest });
  }
}

function one(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}

const FAILURES: Record<string, string> = {
  GWK_FORBIDDEN_ADDRESS: 'the address is not public',
  ENOTFOUND: 'the name does not exist',
  ENODATA: 'the name has no address',
  ETIMEOUT: 'the name server did not answer',
  ESERVFAIL: 'the name server failed',
  EREFUSED: 'the name server refused',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed without an answer',
  EPIPE: 'connection closed without an answer',
  UND_ERR_SOCKET: 'connection closed without an answer',
  EHOSTUNREACH: 'no route to the address',
  ENETUNREACH: 'no route to the address',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is not trusted',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
};

/** Known words only: what a stranger's server wrote into an error does not reach our tables and logs. */
function describeFailure(cause: unknown): string {
  const code = codeOf(cause);
  if (FAILURES[code] !== undefined) return FAILURES[code];
  if (code.startsWith('HPE_') || (cause as Error).name === 'HTTPParserError') return 'the answer is not HTTP';
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return 'no TLS connection';
  return /^[A-Z_0-9]{1,60}$/.test(code) ? `the call failed (${code})` : 'the call failed';
}

/** An address of each family is tried, so the cause may be several. */
function codeOf(cause: unknown): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  const { code } = (first ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
