import { RateLimiter } from '../rate-limiter.js';

/** A step: one key of a chain derived from the one before it. Some 20 to 40 us. */
export const STEPS = {
  /** Two agreements of keys and a new pair of them. */
  ratchet: 13,
  /** What the first message of a session costs beside. */
  session: 20,
  /** A group's message keys are derived one by one, used or not. */
  groupKey: 3,
};
/** As many as chains may skip, by the protocol: 2,000 of a group's, or of one that ends and of the next. */
const MAX_STEPS = 6_200;
/** What any message may cost, whoever has sent whatever before it. */
const FREE_STEPS = 100;
const STEP_LIMIT = { perKey: 10_000, total: 50_000, windowMs: 60_000 };

/** A message asks for more work than is done for its sender now. */
export class DecryptionBudgetExceeded extends Error {
  override name = 'TooFar';
  constructor() {
    super('too far from what was read before');
  }
}

/**
 * How much is derived for the sake of messages of which nobody knows whether they can be read. Whoever sends one
 * chooses how many keys of a chain it skips, and in how many sessions it has to be tried, and what was derived for one
 * that cannot be read is thrown away: garbage of 200 bytes cost the engine seconds in which it did nothing else. So
 * what a sender makes it derive in vain, or far ahead, is counted; beyond a bound further messages of that sender, or of
 * all, are read where that takes little, and otherwise are as any that cannot be read: they are asked for again.
 */
export class DecryptionBudget {
  readonly #allowance: RateLimiter;
  /** Of a message that is tried in several sessions. */
  readonly #spent = new WeakMap<object, number>();

  constructor(now?: () => number) {
    this.#allowance = new RateLimiter(STEP_LIMIT, now);
  }

  /** To be called before. @throws TooFar */
  spend(sender: string, message: object, steps: number): void {
    const spent = (this.#spent.get(message) ?? 0) + steps;
    if (spent > (this.#allowance.has(sender) ? MAX_STEPS : FREE_STEPS)) throw new DecryptionBudgetExceeded();
    this.#spent.set(message, spent);
    // What is far ahead counts, be it readable: its sender chose that.
    if (steps > FREE_STEPS) this.#allowance.take(sender, steps);
  }

  /** It could not be read. */
  recordFailure(sender: string, steps: number): void {
    if (steps <= FREE_STEPS) this.#allowance.take(sender, steps);
  }
}
