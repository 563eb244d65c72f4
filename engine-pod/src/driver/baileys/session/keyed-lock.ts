/** Named locks: whoever asks for the same name comes one after the other, in the order in which they asked. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>();

  /** Resolves, once the lock is had, to what gives it back. */
  async acquire(name: string): Promise<() => void> {
    const before = this.#tails.get(name);
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
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
