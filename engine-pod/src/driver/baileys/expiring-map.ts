interface Kept<T> {
  value: T;
  until: number;
}

/** The latest of what is kept for a while: strangers choose how much comes, so it has an end. */
export class Recent<T> {
  readonly #kept = new Map<string, Kept<T>>();
  readonly #max: number;
  readonly #forMs: number;

  readonly #now: () => number;

  constructor({ max, forMs }: { max: number; forMs: number }, now = () => performance.now()) {
    this.#now = now;
    this.#max = max;
    this.#forMs = forMs;
  }

  get(name: string): T | undefined {
    const kept = this.#kept.get(name);
    return kept && kept.until > this.#now() ? kept.value : undefined;
  }

  set(name: string, value: T): void {
    const now = this.#now();
    this.#kept.delete(name);
    this.#kept.set(name, { value, until: now + this.#forMs });
    for (const [oldest, { until }] of this.#kept) {
      if (this.#kept.size <= this.#max && until > now) break;
      this.#kept.delete(oldest);
    }
  }

  delete(name: string): void {
    this.#kept.delete(name);
  }

  get size(): number {
    return this.#kept.size;
  }
}
