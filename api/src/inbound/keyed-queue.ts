/**
 * Runs the work of each key in order, and of at most `width` keys at the same time.
 */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<void>>();
  readonly #queue: (() => void)[] = [];
  #free: number;

  constructor(width: number) {
    this.#free = width;
  }

  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    let end = (): void => {};
    const mine = new Promise<void>((resolve) => (end = resolve));
    this.#last.set(key, mine);
    try {
      await before;
      await this.#enter();
      try {
        return await work();
      } finally {
        this.#leave();
      }
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
      end();
    }
  }

  async #enter(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  #leave(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#free++;
  }
}
