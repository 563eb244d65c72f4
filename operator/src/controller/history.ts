import type { EndedPod } from '../cluster/cluster.js';
import { backoffMs, type Backoff } from './queue.js';

/** What is remembered of an instance's engines that ended without being asked. */
export interface History {
  /** Ends in a row, each less than RESET_MS after its start. */
  failures: number;
  lastError: string | null;
  nextStartAt: number;
  /** The pod counted last, so that none counts twice. */
  counted: string | null;
}

export const NO_HISTORY: History = { failures: 0, lastError: null, nextStartAt: 0, counted: null };

const RESET_MS = 600_000;
export const CRASH_LOOP_FAILURES = 3;
/** An engine that has outlived its last start by so long is not in a loop any more, as far as alerts go. */
const LOOP_OVER_MS = 360_000;

/** Whether its engine ends each time soon after it is started, and did so lately. */
export function isCrashLoop({ failures, nextStartAt }: History, now: number): boolean {
  return failures >= CRASH_LOOP_FAILURES && now < nextStartAt + LOOP_OVER_MS;
}

/**
 * The first end after a long run, or after none, is followed by a start at once, because a crash must cost seconds;
 * the next ones wait 1 s, 2 s, ... 5 min.
 */
export function recordExit(history: History, pod: EndedPod, backoff: Backoff): History {
  if (history.counted === pod.name) return history;
  if (pod.asked) return { ...history, counted: pod.name };
  const failures = pod.endedAt - pod.startedAt >= RESET_MS ? 1 : history.failures + 1;
  const wait = failures === 1 ? 0 : backoffMs(failures - 1, backoff);
  return { failures, lastError: pod.how, nextStartAt: pod.endedAt + wait, counted: pod.name };
}
