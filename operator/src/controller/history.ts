import type { EndedPod } from '../cluster/cluster.js';
import { backoffMs, type Backoff } from './queue.js';

/** Exits of an instance's engines that nobody requested. */
export interface History {
  /** Consecutive exits, each less than RESET_MS after its start. */
  failures: number;
  lastError: string | null;
  nextStartAt: number;
  /** Last pod counted, so that none counts twice. */
  counted: string | null;
}

export const NO_HISTORY: History = { failures: 0, lastError: null, nextStartAt: 0, counted: null };

const RESET_MS = 600_000;
export const CRASH_LOOP_FAILURES = 3;
/** After this time without another exit, alerts no longer count a crash loop. */
const LOOP_OVER_MS = 360_000;

/** Whether the engine keeps exiting soon after its start, and did so recently. */
export function isCrashLoop({ failures, nextStartAt }: History, now: number): boolean {
  return failures >= CRASH_LOOP_FAILURES && now < nextStartAt + LOOP_OVER_MS;
}

/**
 * The first exit after a long run restarts the engine at once, so that one crash costs seconds. Later restarts wait 1
 * s, 2 s, ... 5 min.
 */
export function recordExit(history: History, pod: EndedPod, backoff: Backoff): History {
  if (history.counted === pod.name) return history;
  if (pod.requested) return { ...history, counted: pod.name };
  const failures = pod.endedAt - pod.startedAt >= RESET_MS ? 1 : history.failures + 1;
  const wait = failures === 1 ? 0 : backoffMs(failures - 1, backoff);
  return { failures, lastError: pod.how, nextStartAt: pod.endedAt + wait, counted: pod.name };
}
