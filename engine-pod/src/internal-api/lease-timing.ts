/** The term of a lease on the monotonic clock. */
export interface LeaseTerm {
  /** Send time of the request that granted or renewed the lease. The duration counts from then. */
  from: number;
  leaseMs: number;
}

const CLOSE_BEFORE_MS = 5_000;

/** Time before the end at which the socket is closed and sending stops: 5 s, or a ninth of a short lease. */
export function closeMargin(leaseMs: number): number {
  return Math.min(CLOSE_BEFORE_MS, leaseMs / 9);
}

/** From this time on the engine has no socket and sends nothing. */
export function closeAt(term: LeaseTerm): number {
  return term.from + term.leaseMs - closeMargin(term.leaseMs);
}

export function mayActAt(term: LeaseTerm, now: number): boolean {
  return now < closeAt(term);
}

/**
 * Delay before the next renewal. An unanswered renewal is retried sooner, as often as fits before the socket must
 * close.
 *
 * @param random from 0 to 1
 */
export function renewDelay(renewMs: number, unanswered: number, random: number): number {
  const base = unanswered === 0 ? renewMs : Math.min(renewMs, 2_000);
  return Math.round(base * (0.8 + 0.2 * random));
}

/** Timeout of a renewal. An early retry is better than a late answer. */
export function renewTimeout(leaseMs: number): number {
  return Math.max(200, Math.min(5_000, Math.floor(leaseMs / 6)));
}
