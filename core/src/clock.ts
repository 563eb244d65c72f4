/**
 * Monotonic time in milliseconds, and timers, for deadlines and intervals. Tests inject a clock that they set by hand
 * (test/support/clock.ts).
 */
export interface Clock {
  now(): number;
  /** Calls `run` once, after `ms`. */
  after(ms: number, run: () => void): Cancel;
  /** Calls `run` every `ms`. Does not keep the process alive. */
  every(ms: number, run: () => void): Cancel;
}

export type Cancel = () => void;

export const processClock: Clock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  every: (ms, run) => {
    const timer = setInterval(run, ms).unref();
    return () => clearInterval(timer);
  },
};
