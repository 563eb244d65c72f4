/**
 * Runs one item of a key at a time; keys do not wait for each other. An item is known from `offer` until `forget`,
 * so that a second copy of it is dropped.
 */
export class KeyedQueue<T> {
  readonly #known = new Map<string, T>();
  /** By key: the running item, then the waiting ones. */
  readonly #queues = new Map<string, T[]>();

  get size(): number {
    return this.#known.size;
  }

  /** Number of keys with items. */
  get activeKeys(): number {
    return this.#queues.size;
  }

  get(id: string): T | undefined {
    return this.#known.get(id);
  }

  /** All known items, in the order of their arrival. */
  items(): Iterable<T> {
    return this.#known.values();
  }

  /** `run`: start it now. `wait`: `finish` returns it when its turn comes. `known`: already queued. */
  offer(id: string, key: string, item: T): 'run' | 'wait' | 'known' {
    if (this.#known.has(id)) return 'known';
    this.#known.set(id, item);
    const queue = this.#queues.get(key);
    if (queue) {
      queue.push(item);
      return 'wait';
    }
    this.#queues.set(key, [item]);
    return 'run';
  }

  /** The running item of the key has finished. Returns the item to start now. */
  finish(key: string): T | undefined {
    const queue = this.#queues.get(key);
    queue?.shift();
    const next = queue?.[0];
    if (next === undefined) this.#queues.delete(key);
    return next;
  }

  /** Whether an item waits behind a running one. */
  get hasWaiting(): boolean {
    return [...this.#queues.values()].some((queue) => queue.length > 1);
  }

  /** Takes waiting items out of the queues. They stay known. */
  withdraw(isWanted: (waiting: T, running: T) => boolean): T[] {
    const withdrawn: T[] = [];
    for (const [key, [running, ...waiting]] of this.#queues) {
      const wanted = waiting.filter((item) => isWanted(item, running!));
      if (wanted.length === 0) continue;
      withdrawn.push(...wanted);
      this.#queues.set(key, [running!, ...waiting.filter((item) => !wanted.includes(item))]);
    }
    return withdrawn;
  }

  forget(id: string): void {
    this.#known.delete(id);
  }
}
