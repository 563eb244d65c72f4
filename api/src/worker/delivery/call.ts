import { request, type Dispatcher } from 'undici';
import type { Called, Prepared } from './types.js';

/** So much of an answer is read and kept; what follows is cut off with its connection. */
const MAX_RESPONSE_BYTES = 20_000;

/** Why a call was broken off from here. */
export class CallTimeout extends Error {
  override name = 'CallTimeout';
}
export class WorkerStopping extends Error {
  override name = 'WorkerStopping';
}

/**
 * Posts one attempt. The signal bounds it as a whole: connecting, waiting, and reading a body that trickles. An answer
 * counts once it is complete, or longer than what is kept of it.
 * @throws WorkerStopping where the signal says so; every other end is a result
 */
export async function call(prepared: Prepared, dispatcher: Dispatcher, signal: AbortSignal): Promise<Called> {
  const { claimed, url, headers, body } = prepared;
  const start = performance.now();
  const ended = (rest: Omit<Called, 'claimed' | 'latencyMs'>): Called => ({
    claimed,
    latencyMs: Math.round(performance.now() - start),
    ...rest,
  });
  try {
    const answer = await request(url, { dispatcher, method: 'POST', headers, body, signal });
    const response = await readSome(answer.body);
    const { statusCode } = answer;
    const retryAfter = answer.headers['retry-after'];
    const error = statusCode >= 200 && statusCode < 300 ? null : `answered ${statusCode}`;
    return ended({ statusCode, error, retryAfter: one(retryAfter), response });
  } catch (cause) {
    if (signal.reason instanceof WorkerStopping) throw signal.reason;
    const error = signal.reason instanceof CallTimeout ? signal.reason.message : describeFailure(cause);
    return ended({ statusCode: null, error, retryAfter: null, response: null });
  }
}

/** Leaving the loop early destroys the stream, and the connection with it. */
async function readSome(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk.subarray(0, MAX_RESPONSE_BYTES - size));
    size += chunk.length;
    if (size >= MAX_RESPONSE_BYTES) break;
  }
  return Buffer.concat(chunks);
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
