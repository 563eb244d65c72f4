import { processClock, type Clock } from '@gwk/core/clock';
import { uptime } from 'node:os';

const REREAD_MS = 5;

/**
 * Milliseconds on a clock that nobody sets and that keeps running while the machine sleeps or the process is
 * stopped. A lease is measured on it. `performance.now()` pauses during a suspend, after which another engine may
 * own the instance. Resolution 15 ms.
 *
 * Node opens a file for each `os.uptime()`, and an engine asks several times a message. So the result is kept for 5 ms
 * of running time. After the machine slept, the engine notices the end of its lease at most that much later; it stops
 * seconds before that end.
 */
export const monotonicNow = rereadAfter(REREAD_MS, () => uptime() * 1000);

/** Calls `read` again at least `ms` after its last call. */
export function rereadAfter(
  ms: number,
  read: () => number,
  now = (): number => performance.now(),
): () => number {
  let value = 0;
  let readAt = -Infinity;
  return () => {
    const at = now();
    if (at - readAt >= ms) {
      value = read();
      readAt = at;
    }
    return value;
  };
}

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
