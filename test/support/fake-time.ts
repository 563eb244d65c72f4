import { install } from '@sinonjs/fake-timers';
import { syncBuiltinESMExports } from 'node:module';

/** Advances the clock of this process. Due timers run in order, each at its time. */
export type PassTime = (ms: number) => Promise<void>;

/** Start time. It lies in the past, so that ids created in fake time are never in the future for later code. */
const BEGINS = Date.UTC(2026, 0, 1, 12);
const FAKED = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] as const;

/**
 * Runs a test in fake time. Timers and clocks of this process move only when the test passes time; promises, immediates
 * and I/O continue. `until` of wait.ts never ends in fake time.
 */
export function inFakeTime(work: (pass: PassTime) => Promise<void> | void): () => Promise<void> {
  return async () => {
    const clock = install({ now: BEGINS, toFake: [...FAKED] });
    // Updates names imported from node:timers/promises.
    syncBuiltinESMExports();
    try {
      await work(async (ms) => void (await clock.tickAsync(ms)));
    } finally {
      clock.uninstall();
      syncBuiltinESMExports();
    }
  };
}
