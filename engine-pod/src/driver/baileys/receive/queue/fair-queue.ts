/** Something that is read, and then taken. */
export interface QueueItem {
  bytes: number;
  /** Before its turn to be taken; whether that could be done. */
  decrypt: () => Promise<boolean>;
  process: () => Promise<unknown>;
}

/** So much is read, and kept in memory, before the first of it was taken. */
const MAX_AHEAD = 50;
const MAX_BYTES_AHEAD = 4_000_000;
/** Of one name: of what others bring then, no more than this is before it. */
const MAX_AHEAD_PER_KEY = 20;

/** Read, and not yet taken. */
interface DecryptedItem {
  key: string;
  bytes: number;
  processed: Promise<unknown>;
}

/**
 * One after the other: of each name in order, and of all names in turns. What is read is taken in that order too, beside
 * the reading of what follows; nothing follows what could not be read before that was taken.
 */
export class FairQueue {
  /** By name; the first is the next. */
  readonly #queues = new Map<string, QueueItem[]>();
  /** The oldest first. */
  readonly #ahead: DecryptedItem[] = [];
  #lastProcessed: Promise<unknown> = Promise.resolve();
  #running = false;

  add(key: string, work: QueueItem): void {
    const queue = this.#queues.get(key);
    if (queue) queue.push(work);
    else this.#queues.set(key, [work]);
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#queues.size > 0) {
      const key = this.#findNextKey();
      if (key === undefined) await this.#ahead[0]?.processed;
      else await this.#process(key, this.#pull(key));
    }
    this.#running = false;
  }

  /** None while all that wait have as much ahead as they may. */
  #findNextKey(): string | undefined {
    const bytes = this.#ahead.reduce((sum, ahead) => sum + ahead.bytes, 0);
    if (this.#ahead.length >= MAX_AHEAD || bytes >= MAX_BYTES_AHEAD) return undefined;
    for (const key of this.#queues.keys())
      if (this.#ahead.filter((ahead) => ahead.key === key).length < MAX_AHEAD_PER_KEY) return key;
    return undefined;
  }

  #pull(key: string): QueueItem {
    const queue = this.#queues.get(key)!;
    this.#queues.delete(key);
    const work = queue.shift()!;
    if (queue.length > 0) this.#queues.set(key, queue);
    return work;
  }

  async #process(key: string, { bytes, decrypt, process }: QueueItem): Promise<void> {
    const isDecrypted = await decrypt().catch(() => false);
    const processed = this.#lastProcessed
      .then(process)
      .catch(() => undefined)
      .finally(() => this.#ahead.shift());
    this.#lastProcessed = processed;
    this.#ahead.push({ key, bytes, processed });
    if (!isDecrypted) await processed;
    // Others have their turn between two.
    await new Promise(setImmediate);
  }
}
