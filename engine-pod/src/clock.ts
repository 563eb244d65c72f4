import { uptime } from 'node:os';

/**
 * Milliseconds on a clock that nobody sets and that goes on while the machine sleeps or the process is stopped.
 * A lease is measured on it: `performance.now()` stands still during a suspend, after which the number may long
 * be another engine's. Steps of 10 ms.
 */
export const monotonicNow = (): number => uptime() * 1000;
