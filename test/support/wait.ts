/** Tests wait for conditions, never for a fixed time. */
export interface Wait {
  /** The condition, for the error message. */
  what: string;
  timeoutMs?: number;
  everyMs?: number;
  /** Returns a reason to stop waiting. */
  giveUp?: () => string | undefined;
}

/**
 * Multiplies every real-time limit in the tests. Tests that measure time belong to tiers outside `make test` and take
 * their limits through `realTime`.
 */
const TIME_FACTOR = Number(process.env['GWK_TEST_TIME_FACTOR'] ?? 1);

/** @returns `ms`, scaled for the speed of this machine */
export const realTime = (ms: number): number => ms * TIME_FACTOR;

/** Longer than any machine needs. Only a condition that never holds reaches it. */
const TIMEOUT_MS = realTime(120_000);
const EVERY_MS = 25;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Repeats the attempt until it returns something other than undefined, null or false. Numbers are not allowed, because
 * a count of 0 is ambiguous. An attempt that throws counts as not yet successful; the final error has it as its cause.
 */
export async function until<T extends object | string | true>(
  attempt: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  { what, timeoutMs = TIMEOUT_MS, everyMs = EVERY_MS, giveUp }: Wait,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const value = await attempt();
      if (value !== undefined && value !== null && value !== false) return value;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    const vain = giveUp?.();
    if (vain !== undefined) throw new Error(`${vain}; waited for: ${what}`, { cause });
    if (Date.now() > end) {
      const why = cause === undefined ? '' : `: ${(cause as Error).message}`;
      throw new Error(`after ${timeoutMs / 1000} s still not: ${what}${why}`, { cause });
    }
    await pause(everyMs);
  }
}
