import { pause } from '../wait.js';

const DAY_MS = 86_400_000;
/** Longer than any test file that needs it. */
const NEAR_MS = 120_000;

/** Waits for the next day (UTC) if the current one is about to end, so that tests can count days. */
export async function dayThatLasts(): Promise<void> {
  for (;;) {
    const left = DAY_MS - (Date.now() % DAY_MS);
    if (left >= NEAR_MS) return;
    await pause(left);
  }
}
