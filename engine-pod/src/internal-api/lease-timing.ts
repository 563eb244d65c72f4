/** What a lease allows at a moment, decided from the monotonic clock alone. */
export interface LeaseTerm {
  /** When the request was sent whose answer gave or renewed the lease: its length counts from then. */
  from: number;
  leaseMs: number;
}

const CLOSE_BEFORE_MS = 5_000;

/** How long before the end the socket is closed and nothing is sent any more; a ninth of short leases. */
export function closeMargin(leaseMs: number): number {
  return Math.min(CLOSE_BEFORE_MS, leaseMs / 9);
}

/** From this moment on the engine has no socket and sends nothing. */
export function closeAt(term: LeaseTerm): number {
  return term.from + term.leaseMs - closeMargin(term.leaseMs);
}

export function mayActAt(term: LeaseTerm, now: number): boolean {
  return now < closeAt(term);
}

/**
 * When to renew next. An unanswered renewal is repeated sooner, as many times as fit before the socket must close.
 *
 * @param random from 0 to 1
 */
export function renewDelay(renewMs: number, unanswered: number, random: number): number {
  const base = unanswered === 0 ? renewMs : Math.min(renewMs, 2_000);
  return Math.round(base * (0.8 + 0.2 * random));
}

/** How long to wait for an answer: an early second question beats a late answer. */
export function renewTimeout(leaseMs: number): number {
  return Math.max(200, Math.min(5_000, Math.floor(leaseMs / 6)));
}
