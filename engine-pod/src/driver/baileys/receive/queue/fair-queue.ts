/** Something that is read, and then taken. */
export interface Work {
  bytes: number;
  /** Before its turn to be taken; whether that could be done. */
  read: () => Promise<boolean>;
  take: () => Promise<unknown>;
}

/** So much is read, and kept in memory, before the first of it was taken. */
const MAX_AHEAD = 50;
const MAX_BYTES_AHEAD = 4_000_000;
/** Of one name: of what others bring then, no more than this is before it. */
const MAX_AHEAD_OF_ONE = 20;

/** Read, and not yet taken. */
interface Ahead {
  name: string;
  bytes: number;
  taken: Promise<unknown>;
}

/**
 * One after the other: of each name in order, and of all names in turns. What is read is taken in that order too, beside
 * the reading of what follows; nothing follows what could not be read before that was taken.
 */
export class Turns {
  /** By name; the first is the next. */
  readonly #queues = new Map<string, Work[]>();
  /** The oldest first. */
  readonly #ahead: Ahead[] = [];
  #taken: Promise<unknown> = Promise.resolve();
  #running = false;

  add(name: string, work: Work): void {
    const queue = this.#queues.get(name);
    if (queue) queue.push(work);
    else this.#queues.set(name, [work]);
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#queues.size > 0) {
      const name = this.#next();
      if (name === undefined) await this.#ahead[0]?.taken;
      else await this.#do(name, this.#pull(name));
    }
    this.#running = false;
  }

  /** None while all that wait have as much ahead as they may. */
  #next(): string | undefined {
    const bytes = this.#ahead.reduce((sum, ahead) => sum + ahead.bytes, 0);
    if (this.#ahead.length >= MAX_AHEAD || bytes >= MAX_BYTES_AHEAD) return undefined;
    for (const name of this.#queues.keys())
      if (this.#ahead.filter((ahead) => ahead.name === name).length < MAX_AHEAD_OF_ONE) return name;
    return undefined;
  }

  #pull(name: string): Work {
    const queue = this.#queues.get(name)!;
    this.#queues.delete(name);
    const work = queue.shift()!;
    if (queue.length > 0) this.#queues.set(name, queue);
    return work;
  }

  async #do(name: string, { bytes, read, take }: Work): Promise<void> {
    const isRead = await read().catch(() => false);
    const taken = this.#taken
      .then(take)
      .catch(() => undefined)
      .finally(() => this.#ahead.shift());
    this.#taken = taken;
    this.#ahead.push({ name, bytes, taken });
    if (!isRead) await taken;
    // Others have their turn between two.
    await new Promise(setImmediate);
  }
}
