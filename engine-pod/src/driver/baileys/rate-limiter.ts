interface RateLimit {
  /** Limit for each key. */
  perKey: number;
  /** Limit for all keys together; undefined: none. */
  total?: number;
  windowMs: number;
}

/** Maximum number of keys. Beyond it a new window begins. */
const MAX_KEYS = 2_000;

/** Limits how often something is done for each of many unknown senders, in fixed time windows. */
export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #now: () => number;
  readonly #counts = new Map<string, number>();
  #total = 0;
  #windowEnd = 0;

  constructor(allowed: RateLimit, now: () => number = () => performance.now()) {
    this.#limit = allowed;
    this.#now = now;
  }

  /** Counts `times` uses if the limit allows one more, and returns whether it did. */
  take(key: string, times = 1): boolean {
    if (!this.has(key)) return false;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + times);
    this.#total += times;
    return true;
  }

  /** Whether the limit allows one more use. */
  has(key: string): boolean {
    this.#startWindowIfDue();
    const { perKey, total = Infinity } = this.#limit;
    return (this.#counts.get(key) ?? 0) < perKey && this.#total < total;
  }

  /** Number of keys in the current window. */
  get size(): number {
    return this.#counts.size;
  }

  #startWindowIfDue(): void {
    const now = this.#now();
    if (now < this.#windowEnd && this.#counts.size < MAX_KEYS) return;
    this.#counts.clear();
    this.#total = 0;
    this.#windowEnd = now + this.#limit.windowMs;
  }
}
