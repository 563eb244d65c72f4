/** Tests wait for conditions, never for a span of time. */
export interface Wait {
  /** What is waited for, for the message of a wait that failed. */
  what: string;
  timeoutMs?: number;
  everyMs?: number;
  /** A reason why waiting on is vain. */
  giveUp?: () => string | undefined;
}

/**
 * Multiplies every limit of real time in the tests. Tests that measure time belong to tiers outside `make test` and
 * take their limits through `realTime`.
 */
const TIME_FACTOR = Number(process.env['GWK_TEST_TIME_FACTOR'] ?? 1);

/** @returns `ms` for a machine of this speed */
export const realTime = (ms: number): number => ms * TIME_FACTOR;

/** Far beyond what any machine takes: only a condition that never comes true meets it. */
const TIMEOUT_MS = realTime(120_000);
const EVERY_MS = 25;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Tries until the attempt gives something other than undefined, null or false. Never a number: a count of none would be
 * taken for an answer.
 * An attempt that throws has not yet succeeded; the last error is the cause of the one thrown in the end.
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
    if (vain !== undefined) throw new Error(`${vain}, while waiting for: ${what}`, { cause });
    if (Date.now() > end) {
      const why = cause === undefined ? '' : `: ${(cause as Error).message}`;
      throw new Error(`after ${timeoutMs / 1000} s still not: ${what}${why}`, { cause });
    }
    await pause(everyMs);
  }
}
