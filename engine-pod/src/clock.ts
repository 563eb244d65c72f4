import { processClock, type Clock } from '@gwk/core/clock';
import { uptime } from 'node:os';

/**
 * Milliseconds on a clock that nobody sets and that keeps running while the machine sleeps or the process is
 * stopped. A lease is measured on it. `performance.now()` pauses during a suspend, after which another engine may
 * own the instance. Resolution 10 ms.
 */
export const monotonicNow = (): number => uptime() * 1000;

/** The clock of this process. Its timers do not keep the process alive. */
export const unrefClock: Clock = {
  ...processClock,
  after: (ms, run) => {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or as soon as `signal` is aborted. */
export function waitOnClock(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
