export interface Backoff {
  /** Delay before the first retry, in milliseconds. */
  first: number;
  /** Upper bound of the delay, in milliseconds. */
  most: number;
}

/**
 * Delay before retry `attempt` (1 is the first). It doubles with each attempt. The upper half is random, so that
 * engines which lost the same service at once do not return at once.
 *
 * @param random from 0 to 1
 */
export function backoffDelay(backoff: Backoff, attempt: number, random = Math.random()): number {
  const full = Math.min(backoff.most, backoff.first * 2 ** Math.min(attempt - 1, 30));
  return Math.round(full / 2 + (random * full) / 2);
}
