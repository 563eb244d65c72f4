import type { SessionEntry } from '@gwk/core/protocol/engine';

/** Writes entries to the store. They are durable when it resolves. */
type Write = (entries: SessionEntry[]) => Promise<void>;

interface Pending {
  entries: SessionEntry[];
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Limits of one request of the internal API. */
const MAX_ENTRIES = 5_000;
const MAX_BYTES = 4_000_000;

/**
 * Writes in the given order, one request at a time. Entries that arrive during a request go into the next one, so
 * many small writes need few round trips. The entries of one write are never split.
 */
export class BatchWriter {
  readonly #write: Write;
  readonly #pending: Pending[] = [];
  #running = false;
  #failed: Error | undefined;

  constructor(write: Write) {
    this.#write = write;
  }

  /**
   * Resolves once stored. After a failure nothing more is written, because later writes may depend on the lost
   * ones.
   */
  write(entries: SessionEntry[]): Promise<void> {
    if (entries.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#pending.push({ entries, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    // Writes of the same turn of the event loop share a request.
    await new Promise(setImmediate);
    while (this.#pending.length > 0) await this.#writeBatch(this.#takeBatch());
    this.#running = false;
  }

  #takeBatch(): Pending[] {
    let [count, size, bytes] = [0, 0, 0];
    for (const { entries } of this.#pending) {
      size += entries.length;
      for (const { value } of entries) bytes += value?.length ?? 0;
      if (count > 0 && (size > MAX_ENTRIES || bytes > MAX_BYTES)) break;
      count += 1;
    }
    return this.#pending.splice(0, count);
  }

  async #writeBatch(group: Pending[]): Promise<void> {
    try {
      if (this.#failed !== undefined) throw this.#failed;
      await this.#write(keepLatest(group.flatMap(({ entries }) => entries)));
      for (const { resolve } of group) resolve();
    } catch (error) {
      this.#failed ??= error instanceof Error ? error : new Error('a session write failed');
      for (const { reject } of group) reject(error);
    }
  }
}

/** Keeps the last value of each key, because one statement cannot write a row twice. */
function keepLatest(entries: SessionEntry[]): SessionEntry[] {
  return [...new Map(entries.map((entry) => [`${entry.type} ${entry.key}`, entry])).values()];
}
