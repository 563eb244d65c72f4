import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gwk/core/log';

/** Something that is looked at again and again. Several workers may do it at once. */
export interface Sweep {
  name: string;
  everyMs: number;
  /** After a pass that leaves more; none where absent. */
  restMs?: number;
  /** @returns how much was dealt with, and whether there is more right now */
  pass(): Promise<Swept>;
}

export interface Swept {
  amount: number;
  more: boolean;
}

export const NOTHING: Swept = { amount: 0, more: false };

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
 * Runs a sweep until the signal. An error is logged (the first of a row), waits longer each time, and is the business
 * of no other loop. Passes do not come in step with those of other workers.
 */
export async function loop(
  sweep: Sweep,
  { log, signal, onPass, rest = restInReality }: LoopOptions,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    let more = false;
    try {
      const swept = await sweep.pass();
      more = swept.more;
      if (failures > 0) log.info({ sweep: sweep.name }, 'works again');
      if (swept.amount > 0) log.debug({ sweep: sweep.name, amount: swept.amount }, 'swept');
      failures = 0;
      onPass?.(true, swept.amount);
    } catch (error) {
      failures += 1;
      if (failures === 1) log.warn({ err: error, sweep: sweep.name }, 'failed, and is tried again');
      onPass?.(false, 0);
    }
    const wait = failures > 0 ? backoff(sweep.everyMs, failures) : more ? (sweep.restMs ?? 0) : sweep.everyMs;
    await rest(wait * (0.9 + Math.random() / 5), signal);
  }
}

export function backoff(everyMs: number, failures: number): number {
  return Math.min(MAX_BACKOFF_MS, Math.max(everyMs, 100) * 2 ** Math.min(failures - 1, 10));
}
