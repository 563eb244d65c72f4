import { uptime } from 'node:os';

/**
 * Milliseconds on a clock that nobody sets and that goes on while the machine sleeps or the process is stopped.
 * A lease is measured on it: `performance.now()` stands still during a suspend, after which the number may long
 * be another engine's. Steps of 10 ms.
 */
export const monotonicNow = (): number => uptime() * 1000;

/** Time as a part of the engine knows it; tests move a clock of their own. */
export interface Clock {
  /** Milliseconds since some moment. */
  now(): number;
  /** Keeps no process alive. @returns cancels it */
  after(ms: number, work: () => void): () => void;
}

export const realClock: Clock = {
  now: () => performance.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or as soon as `over` is aborted. */
export function pass(clock: Clock, ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      over.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    over.addEventListener('abort', end);
    if (over.aborted) end();
  });
}
