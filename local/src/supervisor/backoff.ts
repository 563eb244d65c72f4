export const FIRST_DELAY_MS = 1_000;
export const LONGEST_DELAY_MS = 30_000;
/** What ran this long was well: the next end is a first one again. */
export const WELL_AFTER_MS = 60_000;

/** How long to wait before a part is started again, after so many ends in a row. */
export function restartDelay(endsInARow: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** (endsInARow - 1), LONGEST_DELAY_MS);
}

export function endsInARow(before: number, ranMs: number): number {
  return ranMs >= WELL_AFTER_MS ? 1 : before + 1;
}
