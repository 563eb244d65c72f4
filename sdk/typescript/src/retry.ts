import { ApiError, ConnectionError } from './errors.js';

/** A longer Retry-After, such as that of a limit of a day, is for the caller to decide. */
const MAX_WAIT_S = 60;

/**
 * Returns the seconds to wait before the next attempt; null: do not repeat.
 * @param repeatable a repeat does nothing twice: a GET or DELETE, or a request with an Idempotency-Key
 * @param attempt number of attempts so far
 * @param maxWait seconds
 */
export function planRetry(
  error: unknown,
  {
    repeatable,
    attempt,
    maxWait = MAX_WAIT_S,
    random = Math.random,
  }: { repeatable: boolean; attempt: number; maxWait?: number | undefined; random?: () => number },
): number | null {
  const backoff = Math.min(0.5 * 2 ** (attempt - 1), 8) * (0.5 + random() / 2);
  if (error instanceof ConnectionError) return repeatable ? backoff : null;
  if (!(error instanceof ApiError) || !isTemporary(error, repeatable)) return null;
  const told = error.retryAfter ?? 0;
  return told <= maxWait ? Math.max(told, backoff) : null;
}

function isTemporary({ code, status }: ApiError, repeatable: boolean): boolean {
  // All three refuse before they do anything.
  if (status === 429 || status === 503 || code === 'idempotency-in-progress') return true;
  // The answer of the phone or of the network: another attempt is a decision of the caller.
  if (code === 'pairing-failed') return false;
  return status >= 500 && repeatable;
}

/** Waits, or throws the reason of the signal. */
export function wait(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
