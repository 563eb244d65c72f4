interface Entry<T> {
  value: T;
  until: number;
}

/**
 * A map with a maximum size, whose entries expire after `ttlMs`. The oldest entry is evicted first. `set` removes
 * expired entries, so no timer is needed.
 */
export class ExpiringMap<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #max: number;
  readonly #ttlMs: number;
  readonly #now: () => number;

  constructor({ max, ttlMs }: { max: number; ttlMs: number }, now = () => performance.now()) {
    this.#max = max;
    this.#ttlMs = ttlMs;
    this.#now = now;
  }

  get(name: string): T | undefined {
    const entry = this.#entries.get(name);
    return entry && entry.until > this.#now() ? entry.value : undefined;
  }

  set(name: string, value: T): void {
    const now = this.#now();
    this.#entries.delete(name);
    this.#entries.set(name, { value, until: now + this.#ttlMs });
    for (const [oldest, { until }] of this.#entries) {
      if (this.#entries.size <= this.#max && until > now) break;
      this.#entries.delete(oldest);
    }
  }

  delete(name: string): boolean {
    return this.#entries.delete(name);
  }

  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }
}
