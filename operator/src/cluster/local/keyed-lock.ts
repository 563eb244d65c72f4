/** Runs one task per key at a time, in the order of the calls. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Resolves when no task runs or waits. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.allSettled(this.#tails.values());
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const current = before.then(work, work);
    this.#tails.set(key, current);
    try {
      return await current;
    } finally {
      if (this.#tails.get(key) === current) this.#tails.delete(key);
    }
  }
}
