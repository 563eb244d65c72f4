export interface Backoff {
  /** Milliseconds before the first repetition. */
  first: number;
  /** Never longer than this. */
  most: number;
}

/**
 * How long to wait before repetition `attempt` (1 is the first): doubling, and the upper half of it by chance, so
 * that engines which lost the same thing at once do not return at once.
 *
 * @param random from 0 to 1
 */
export function backoffDelay(backoff: Backoff, attempt: number, random = Math.random()): number {
  const full = Math.min(backoff.most, backoff.first * 2 ** Math.min(attempt - 1, 30));
  return Math.round(full / 2 + (random * full) / 2);
}
