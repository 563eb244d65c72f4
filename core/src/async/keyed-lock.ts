/** Named locks. Callers for the same name get the lock one after the other, in the order of their calls. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>();

  /** Resolves to the release function once the caller has the lock. */
  async acquire(name: string): Promise<() => void> {
    const before = this.#tails.get(name);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const tail = (before ?? Promise.resolve()).then(() => held);
    this.#tails.set(name, tail);
    await before;
    return () => {
      release();
      if (this.#tails.get(name) === tail) this.#tails.delete(name);
    };
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(name);
    try {
      return await work();
    } finally {
      release();
    }
  }
}
