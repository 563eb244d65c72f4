import { within } from '../platform/with-timeout.js';

/** What a test may shorten. */
export interface Times {
  /** So long one look serves whoever asks. */
  freshMs: number;
  /** Prometheus waits no longer than ten seconds for all of /metrics. */
  patienceMs: number;
  /** What a slow look brought is told at the next scrape: by then another slow one is under way. */
  knownMs: number;
}

const TIMES: Times = { freshMs: 10_000, patienceMs: 4_000, knownMs: 60_000 };

/**
 * One look at Postgres serves whoever asks within ten seconds. Nobody waits for it longer than four, and none begins
 * while another is under way: a Postgres that is slow gets no more to do, and /metrics says all else in time. Null where
 * it does not answer, and where it does not in time and nothing is known of the last minute.
 */
export function kept<T>(
  read: () => Promise<T>,
  times: Times = TIMES,
  now: () => number = () => performance.now(),
): () => Promise<T | null> {
  let known: T | null = null;
  let knownAt = -Infinity;
  let looking: Promise<void> | undefined;
  const age = (): number => now() - knownAt;
  const look = async (): Promise<void> => {
    known = await read().catch(() => null);
    knownAt = now();
    looking = undefined;
  };
  return async () => {
    if (age() < times.freshMs) return known;
    looking ??= look();
    await within(looking, times.patienceMs);
    return age() < times.knownMs ? known : null;
  };
}
