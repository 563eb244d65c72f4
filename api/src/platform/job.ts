import { setTimeout as sleep } from 'node:timers/promises';
import { backoffDelay } from '@gwk/core/async/backoff';
import type { Logger } from '@gwk/core/process/log';

/** Periodic work. Several workers may run it at the same time. */
export interface Job {
  name: string;
  everyMs: number;
  /** Pause after a pass that left work (default: none). */
  restMs?: number;
  /** @returns the number of processed items, and whether more work is due now */
  pass(): Promise<JobResult>;
  /** Waits for the given milliseconds or until the signal, or less if work comes (default: a timer). */
  rest?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface JobResult {
  amount: number;
  more: boolean;
  /** Pause after this pass, if the pass knows it. */
  restMs?: number;
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
}

const restOnTimer: NonNullable<Job['rest']> = (ms, signal) =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/** 10 % either way, which keeps workers from running in step. */
const withJitter = (ms: number): number => ms * (0.9 + Math.random() / 5);

/**
 * Runs a job until the signal. It logs the first of consecutive errors and backs off; other jobs continue.
 */
export async function loop(job: Job, { log, signal, onPass }: LoopOptions): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    let wait: number;
    try {
      const result = await job.pass();
      wait = pauseAfter(job, result);
      if (failures > 0) log.info({ job: job.name }, 'job recovered');
      if (result.amount > 0) log.debug({ job: job.name, amount: result.amount }, 'job pass done');
      failures = 0;
      onPass?.(true, result.amount);
    } catch (error) {
      failures += 1;
      if (failures === 1) log.warn({ err: error, job: job.name }, 'job failed; retrying');
      onPass?.(false, 0);
      wait = withJitter(backoff(job.everyMs, failures));
    }
    if (!signal.aborted) await (job.rest ?? restOnTimer)(wait, signal);
  }
}

const pauseAfter = (job: Job, { more, restMs }: JobResult): number =>
  restMs ?? withJitter(more ? (job.restMs ?? 0) : job.everyMs);

export function backoff(everyMs: number, failures: number): number {
  return backoffDelay({ firstMs: Math.max(everyMs, 100), maxMs: MAX_BACKOFF_MS, jitter: 0 }, failures);
}
