import { setTimeout as sleep } from 'node:timers/promises';
import { backoffDelay } from '@gwk/core/async/backoff';
import type { Logger } from '@gwk/core/log';

/** Periodic work. Several workers may run it at the same time. */
export interface Job {
  name: string;
  everyMs: number;
  /** Pause after a pass that left work (default: none). */
  restMs?: number;
  /** @returns the number of processed items, and whether more work is due now */
  pass(): Promise<JobResult>;
}

export interface JobResult {
  amount: number;
  more: boolean;
}

export const NOTHING: JobResult = { amount: 0, more: false };

/** Processes one batch of each part. More work is due if a batch was full. */
export async function passBatches<T>(
  parts: readonly T[],
  size: number,
  process: (part: T) => Promise<number>,
): Promise<JobResult> {
  const result = { ...NOTHING };
  for (const part of parts) {
    const amount = await process(part);
    result.amount += amount;
    result.more ||= amount === size;
  }
  return result;
}

const MAX_BACKOFF_MS = 10_000;

interface LoopOptions {
  log: Logger;
  signal: AbortSignal;
  onPass?: (ok: boolean, amount: number) => void;
  /** Waits for the given milliseconds or until the signal. */
  rest?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const restInReality: Required<LoopOptions>['rest'] = (ms, signal) =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/**
 * Runs a job until the signal. It logs the first of consecutive errors and backs off; other jobs continue. Jitter of 10 %
 * keeps workers from running in step.
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
      if (failures > 0) log.info({ job: job.name }, 'job recovered');
      if (result.amount > 0) log.debug({ job: job.name, amount: result.amount }, 'job pass done');
      failures = 0;
      onPass?.(true, result.amount);
    } catch (error) {
      failures += 1;
      if (failures === 1) log.warn({ err: error, job: job.name }, 'job failed; retrying');
      onPass?.(false, 0);
    }
    const wait = failures > 0 ? backoff(job.everyMs, failures) : more ? (job.restMs ?? 0) : job.everyMs;
    await rest(wait * (0.9 + Math.random() / 5), signal);
  }
}

export function backoff(everyMs: number, failures: number): number {
  return backoffDelay({ firstMs: Math.max(everyMs, 100), maxMs: MAX_BACKOFF_MS, jitter: 0 }, failures);
}
