import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gwk/core/log';

/** Something that is looked at again and again. Several workers may do it at once. */
export interface Job {
  name: string;
  everyMs: number;
  /** After a pass that leaves more; none where absent. */
  restMs?: number;
  /** @returns how much was dealt with, and whether there is more right now */
  pass(): Promise<JobResult>;
}

export interface JobResult {
  amount: number;
  more: boolean;
}

export const NOTHING: JobResult = { amount: 0, more: false };

const MAX_BACKOFF_MS = 10_000;

export interface LoopOptions {
  log: Logger;
  signal: AbortSignal;
  onPass?: (ok: boolean, amount: number) => void;
  /** Returns after so many milliseconds, or at the signal. */
  rest?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const restInReality: Required<LoopOptions>['rest'] = (ms, signal) =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/**
 * Runs a job until the signal. An error is logged (the first of a row), waits longer each time, and is the business
 * of no other loop. Passes do not come in step with those of other workers.
 */
export async function loop(
  job: Job,
  { log, signal, onPass, rest = restInReality }: LoopOptions,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    let more = false;
    try {
      const result = await job.pass();
      more = result.more;
      if (failures > 0) log.info({ job: job.name }, 'works again');
      if (result.amount > 0) log.debug({ job: job.name, amount: result.amount }, 'result');
      failures = 0;
      onPass?.(true, result.amount);
    } catch (error) {
      failures += 1;
      if (failures === 1) log.warn({ err: error, job: job.name }, 'failed, and is tried again');
      onPass?.(false, 0);
    }
    const wait = failures > 0 ? backoff(job.everyMs, failures) : more ? (job.restMs ?? 0) : job.everyMs;
    await rest(wait * (0.9 + Math.random() / 5), signal);
  }
}

export function backoff(everyMs: number, failures: number): number {
  return Math.min(MAX_BACKOFF_MS, Math.max(everyMs, 100) * 2 ** Math.min(failures - 1, 10));
}
