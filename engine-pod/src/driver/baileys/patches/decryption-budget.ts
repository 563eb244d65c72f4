import { RateLimiter } from '../rate-limiter.js';

/** A step derives one key of a chain from the one before. It takes about 20 to 40 µs. */
export const STEPS = {
  /** Two key agreements and a new key pair. */
  ratchet: 13,
  /** Additional cost of the first message of a session. */
  session: 20,
  /** A group's message keys are derived one by one, used or not. */
  groupKey: 3,
};
/**
 * Maximum that the protocol allows: 2,000 skipped keys of a group, or 2,000 each of a chain that ends and of the
 * next.
 */
const MAX_STEPS = 6_200;
/** Steps that any message may take, whatever its sender did before. */
const FREE_STEPS = 100;
const STEP_LIMIT = { perKey: 10_000, total: 50_000, windowMs: 60_000 };

/**
 * Limits the key derivations for messages that may be undecryptable, because senders choose how many keys a message
 * skips: 200 bytes of garbage blocked an engine for seconds. Failed and far-ahead derivations count per sender and
 * in total. Beyond a limit, messages that need many steps are treated as undecryptable, so they are requested
 * again.
 */
export class DecryptionBudget {
  readonly #limiter: RateLimiter;
  /** Steps spent on a message that is tried in several sessions. */
  readonly #spent = new WeakMap<object, number>();

  constructor(now?: () => number) {
    this.#limiter = new RateLimiter(STEP_LIMIT, now);
  }

  /**
   * Call before deriving.
   * @throws when the message needs more steps than its sender may use now
   */
  spend(sender: string, message: object, steps: number): void {
    const spent = (this.#spent.get(message) ?? 0) + steps;
    if (spent > (this.#limiter.has(sender) ? MAX_STEPS : FREE_STEPS))
      throw new Error('too far ahead of the last decrypted message');
    this.#spent.set(message, spent);
    // Far-ahead steps count even if decryption succeeds, because the sender chose them.
    if (steps > FREE_STEPS) this.#limiter.take(sender, steps);
  }

  /** The message could not be decrypted. */
  recordFailure(sender: string, steps: number): void {
    if (steps <= FREE_STEPS) this.#limiter.take(sender, steps);
  }
}
