export interface Backoff {
  /** Longest delay before the first retry. */
  firstMs: number;
  /** Upper bound of the delay. */
  maxMs: number;
  /** Random share of the delay, so that clients which lost a service together do not return together. 0.5 by default. */
  jitter?: number;
}

/**
 * Delay in milliseconds before retry `attempt` (1 is the first). It doubles with each attempt.
 *
 * @param random from 0 to 1
 */
export function backoffDelay(
  { firstMs, maxMs, jitter = 0.5 }: Backoff,
  attempt: number,
  random = Math.random(),
): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 40));
  return Math.round(full * (1 - jitter + jitter * random));
}
