import { pause } from '../wait.js';

const DAY_MS = 86_400_000;
/** Longer than any file of tests takes that needs it. */
const NEAR_MS = 120_000;

/** For tests that count days (UTC) from the present one: if that is about to end, they begin with the next. */
export async function dayThatLasts(): Promise<void> {
  for (;;) {
    const left = DAY_MS - (Date.now() % DAY_MS);
    if (left >= NEAR_MS) return;
    await pause(left);
  }
}
