import { install } from '@sinonjs/fake-timers';
import { syncBuiltinESMExports } from 'node:module';

/** Moves the clock of this process on: what is due meanwhile runs in its order, each at its time. */
export type PassTime = (ms: number) => Promise<void>;

/** In the past: what is made then, as ids are, is never of the future for what runs later. */
const BEGINS = Date.UTC(2026, 0, 1, 12);
const FAKED = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] as const;

/**
 * Time that the test moves: timers and clocks of this process stand still unless it lets time pass. Promises, immediates
 * and I/O go on. `until` of wait.ts waits for ever meanwhile.
 */
export function inFakeTime(work: (pass: PassTime) => Promise<void> | void): () => Promise<void> {
  return async () => {
    const clock = install({ now: BEGINS, toFake: [...FAKED] });
    // For what was imported by name from node:timers/promises.
    syncBuiltinESMExports();
    try {
      await work(async (ms) => void (await clock.tickAsync(ms)));
    } finally {
      clock.uninstall();
      syncBuiltinESMExports();
    }
  };
}
