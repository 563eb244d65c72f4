interface RateLimit {
  /** For each. */
  perKey: number;
  /** For all together; undefined: no bound. */
  total?: number;
  windowMs: number;
}

/** So many at once are told apart at most: beyond them a new window begins. */
const MAX_KEYS = 2_000;

/** How often something is done for the sake of each of many whom nobody knows, in windows of time. */
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

  /** Whether it may be done once more; if so, it counts as done, so often. */
  take(key: string, times = 1): boolean {
    if (!this.has(key)) return false;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + times);
    this.#total += times;
    return true;
  }

  /** Whether it may be done once more. */
  has(key: string): boolean {
    this.#startWindowIfDue();
    const { perKey, total = Infinity } = this.#limit;
    return (this.#counts.get(key) ?? 0) < perKey && this.#total < total;
  }

  /** How many are told apart now. */
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
