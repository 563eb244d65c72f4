/**
 * A least-recently-used map in two generations. A used entry moves to the young generation. When that holds `minSize`
 * entries, the old generation is dropped. So the last `minSize` used keys are certainly kept, and at most twice as many.
 */
export class RecentMap<T> {
  readonly #minSize: number;
  #young = new Map<string, T>();
  #old = new Map<string, T>();

  constructor(minSize: number) {
    this.#minSize = minSize;
  }

  get(key: string): T | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: T): void {
    if (this.#young.size >= this.#minSize && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
