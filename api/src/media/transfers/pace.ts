/** A slow phone has 20 kB/s. */
export const MIN_BYTES_PER_SECOND = 8_000;
/** A transfer starts with this time. */
export const FIRST_CREDIT_MS = 60_000;
/**
 * Longest pause of a transfer. The kernel buffers some megabytes for a slow client and then takes no bytes for up to 122 s
 * (measured with 9 kB/s).
 */
export const MAX_CREDIT_MS = 300_000;
export const LOOK_EVERY_MS = 1_000;

/**
 * Time that a transfer may still take without progress. Each byte adds the time that it needs at the minimum rate, so a
 * transfer ends whose average rate is below the minimum after the first minute.
 */
export function addProgress(creditMs: number, bytes: number): number {
  return Math.min(MAX_CREDIT_MS, creditMs + (bytes * 1_000) / MIN_BYTES_PER_SECOND);
}

/** A late look counts as two intervals: after a pause of the process, data that arrived meanwhile is still unread. */
export function subtractTime(creditMs: number, elapsedMs: number): number {
  return creditMs - Math.min(elapsedMs, 2 * LOOK_EVERY_MS);
}
