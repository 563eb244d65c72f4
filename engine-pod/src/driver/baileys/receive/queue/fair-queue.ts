/** A message that is decrypted first and then processed. */
interface QueueItem {
  bytes: number;
  /** Decrypts the message before it is processed, and returns whether it succeeded. */
  decrypt: () => Promise<boolean>;
  process: () => Promise<unknown>;
}

/** Maximum number of messages decrypted ahead, which are in memory. */
const MAX_AHEAD = 50;
const MAX_BYTES_AHEAD = 4_000_000;
/** Maximum read-ahead per conversation, so that one busy conversation cannot delay the others by more than this. */
const MAX_AHEAD_PER_KEY = 20;

/** Decrypted, but not yet processed. */
interface DecryptedItem {
  key: string;
  bytes: number;
  processed: Promise<unknown>;
}

/**
 * Processes messages one after the other: in order within a conversation, and in turn between conversations. Later
 * messages are decrypted while earlier ones are processed. Nothing is decrypted behind a message that failed to
 * decrypt until that message is processed.
 */
export class FairQueue {
  /** Messages by conversation. The first conversation is next. */
  readonly #queues = new Map<string, QueueItem[]>();
  /** Oldest first. */
  readonly #decrypted: DecryptedItem[] = [];
  #lastProcessed: Promise<unknown> = Promise.resolve();
  #running = false;

  add(key: string, item: QueueItem): void {
    const queue = this.#queues.get(key);
    if (queue) queue.push(item);
    else this.#queues.set(key, [item]);
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#queues.size > 0) {
      const key = this.#findNextKey();
      if (key === undefined) await this.#decrypted[0]?.processed;
      else await this.#process(key, this.#pull(key));
    }
    this.#running = false;
  }

  /** Undefined while every waiting conversation has reached its read-ahead limit. */
  #findNextKey(): string | undefined {
    const bytes = this.#decrypted.reduce((sum, ahead) => sum + ahead.bytes, 0);
    if (this.#decrypted.length >= MAX_AHEAD || bytes >= MAX_BYTES_AHEAD) return undefined;
    for (const key of this.#queues.keys())
      if (this.#decrypted.filter((ahead) => ahead.key === key).length < MAX_AHEAD_PER_KEY) return key;
    return undefined;
  }

  #pull(key: string): QueueItem {
    const queue = this.#queues.get(key)!;
    this.#queues.delete(key);
    const item = queue.shift()!;
    if (queue.length > 0) this.#queues.set(key, queue);
    return item;
  }

  async #process(key: string, { bytes, decrypt, process }: QueueItem): Promise<void> {
    const isDecrypted = await decrypt().catch(() => false);
    const processed = this.#lastProcessed
      .then(process)
      .catch(() => undefined)
      .finally(() => this.#decrypted.shift());
    this.#lastProcessed = processed;
    this.#decrypted.push({ key, bytes, processed });
    if (!isDecrypted) await processed;
    // Let other work run between two messages.
    await new Promise(setImmediate);
  }
}
