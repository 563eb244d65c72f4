import { processClock, type Clock } from '@gwk/core/clock';
import type { Dispatcher } from 'undici';
import { readErrorCode } from '../../platform/address-guard/guard.js';
import type { CallOutcome, PreparedCall } from './types.js';

/** Bytes of an answer that are read and stored. The connection is then closed. */
const MAX_RESPONSE_BYTES = 20_000;

export class WorkerStopping extends Error {
  override name = 'WorkerStopping';
}
const EMPTY = Buffer.alloc(0);
/** Abort reason after the stored part of an answer. Shared, because every new Error captures a stack trace. */
const LONG_ENOUGH = new Error('the answer is longer than its stored part');

type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/**
 * One HTTP call of a delivery. The timeout bounds the whole call: connecting, waiting, and reading a slow body. An answer
 * counts once its headers have arrived, even if its body is late, broken or longer than its stored part.
 *
 * The class is undici's dispatch handler: a stream and an AbortSignal per call would double the CPU cost of a delivery.
 */
export class Call implements Dispatcher.DispatchHandler {
  readonly #settled = Promise.withResolvers<CallOutcome>();
  /** Rejects only with WorkerStopping. */
  readonly outcome = this.#settled.promise;
  readonly #start = performance.now();
  readonly #clearTimeout: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #ended = false;
  /** Set when the call was aborted. */
  #reason: Error | undefined;
  #statusCode = 0;
  #retryAfter: string | null = null;
  /** Where a redirect leads, which is not followed. */
  #location: string | undefined;
  #response: Buffer = EMPTY;
  #size = 0;

  constructor(
    private readonly prepared: PreparedCall,
    dispatcher: Dispatcher,
    timeoutMs: number,
    clock: Pick<Clock, 'after'> = processClock,
  ) {
    this.#clearTimeout = clock.after(timeoutMs, () =>
      this.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
    );
    const { url, headers, body } = prepared;
    const path = `${url.pathname}${url.search}`;
    try {
      dispatcher.dispatch({ origin: url.origin, path, method: 'POST', headers, body }, this);
    } catch (cause) {
      this.onResponseError(undefined, cause as Error);
    }
  }

  /** Ends the call now; no effect on a finished call. */
  abort(reason: Error): void {
    if (this.#ended) return;
    this.#reason = reason;
    if (this.#statusCode > 0) this.#answer();
    else if (!(reason instanceof WorkerStopping)) this.#fail(reason.message);
    else if (this.#end()) this.#settled.reject(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The call was aborted while it waited for a connection.
    if (this.#reason) controller.abort(this.#reason);
  }

  onResponseStart(_: Dispatcher.DispatchController, statusCode: number, headers: Headers): void {
    if (statusCode < 200) return;
    this.#statusCode = statusCode;
    this.#retryAfter = [headers['retry-after']].flat()[0] ?? null;
    this.#location = statusCode < 400 ? [headers['location']].flat()[0] : undefined;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#store(chunk);
    if (this.#size < MAX_RESPONSE_BYTES) return;
    this.#answer();
    controller.abort(LONG_ENOUGH);
  }

  onResponseEnd(): void {
    this.#answer();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, cause: Error): void {
    if (this.#statusCode > 0) this.#answer();
    else this.#fail(describeFailure(cause));
  }

  /** Copies the chunk: an answer may arrive in one-byte chunks, and each would stay an object. */
  #store(chunk: Buffer): void {
    const size = Math.min(this.#size + chunk.length, MAX_RESPONSE_BYTES);
    if (size > this.#response.length) {
      const longer = Buffer.allocUnsafe(this.#size === 0 ? size : MAX_RESPONSE_BYTES);
      this.#response.copy(longer);
      this.#response = longer;
    }
    chunk.copy(this.#response, this.#size);
    this.#size = size;
  }

  /** @returns false if the call had already ended */
  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#clearTimeout();
    return true;
  }

  #answer(): void {
    if (!this.#end()) return;
    const statusCode = this.#statusCode;
    const target = describeRedirect(this.#location, this.prepared.url);
    const error = statusCode >= 200 && statusCode < 300 ? null : `answered ${statusCode}${target}`;
    const response = this.#response.subarray(0, this.#size);
    this.#settle({ statusCode, error, retryAfter: this.#retryAfter, response });
  }

  #fail(error: string): void {
    if (!this.#end()) return;
    this.#settle({ statusCode: null, error, retryAfter: null, response: null });
  }

  #settle(rest: Omit<CallOutcome, 'claimed' | 'latencyMs'>): void {
    const latencyMs = Math.round(performance.now() - this.#start);
    this.#settled.resolve({ claimed: this.prepared.claimed, latencyMs, ...rest });
  }
}

const MAX_TARGET = 200;

/** Names the target without its user and query, which may be secret. A parsed URL is ASCII. */
function describeRedirect(location: string | undefined, base: URL): string {
  if (location === undefined || !URL.canParse(location, base.href)) return '';
  const { origin, pathname } = new URL(location, base.href);
  return ` (redirect to ${(origin + pathname).slice(0, MAX_TARGET)}, not followed)`;
}

const FAILURES: Record<string, string> = {
  GWK_FORBIDDEN_ADDRESS: 'the address is not public',
  proxy_unreachable: 'the proxy cannot be reached',
  proxy_login_refused: 'the proxy refused user and password',
  proxy_refused: 'the proxy did not connect to the endpoint',
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

/** Maps an error to a known text, so that nothing a foreign server wrote reaches tables and logs. */
function describeFailure(cause: unknown): string {
  const code = readErrorCode(cause);
  if (FAILURES[code] !== undefined) return FAILURES[code];
  if (code.startsWith('HPE_') || (cause as Error).name === 'HTTPParserError') return 'the answer is not HTTP';
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return 'no TLS connection';
  return /^[A-Z_0-9]{1,60}$/.test(code) ? `the call failed (${code})` : 'the call failed';
}
