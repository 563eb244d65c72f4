interface Allowed {
  /** For each. */
  ofOne: number;
  /** For all together; undefined: no bound. */
  ofAll?: number;
  windowMs: number;
}

/** So many at once are told apart at most: beyond them a new window begins. */
const MAX_KNOWN = 2_000;

/** How often something is done for the sake of each of many whom nobody knows, in windows of time. */
export class Allowance {
  readonly #allowed: Allowed;
  readonly #now: () => number;
  readonly #taken = new Map<string, number>();
  #all = 0;
  #until = 0;

  constructor(allowed: Allowed, now: () => number = () => performance.now()) {
    this.#allowed = allowed;
    this.#now = now;
  }

  /** Whether it may be done once more; if so, it counts as done, so often. */
  take(whom: string, times = 1): boolean {
    if (!this.has(whom)) return false;
    this.#taken.set(whom, (this.#taken.get(whom) ?? 0) + times);
    this.#all += times;
    return true;
  }

  /** Whether it may be done once more. */
  has(whom: string): boolean {
    this.#turn();
    const { ofOne, ofAll = Infinity } = this.#allowed;
    return (this.#taken.get(whom) ?? 0) < ofOne && this.#all < ofAll;
  }

  /** How many are told apart now. */
  get size(): number {
    return this.#taken.size;
  }

  #turn(): void {
    const now = this.#now();
    if (now < this.#until && this.#taken.size < MAX_KNOWN) return;
    this.#taken.clear();
    this.#all = 0;
    this.#until = now + this.#allowed.windowMs;
  }
}
