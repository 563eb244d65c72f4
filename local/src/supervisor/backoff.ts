const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;
/** After a run of this length, the next exit counts as the first. */
const STABLE_AFTER_MS = 60_000;

/** Delay before the next restart. */
export function getRestartDelay(exitsInARow: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** (exitsInARow - 1), MAX_DELAY_MS);
}

export function countExitsInARow(before: number, ranMs: number): number {
  return ranMs >= STABLE_AFTER_MS ? 1 : before + 1;
}
