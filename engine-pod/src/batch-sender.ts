import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import { processClock, type Clock } from '@gwk/core/clock';

export interface BatchSenderOptions<I, O> {
  maxItems: number;
  /** Approximate size of an item in a request; 500 bytes (default). */
  estimateBytes?: (item: I) => number;
  /** Sends until answered. Throws when the client is closed or the API refuses the request as invalid. */
  send: (items: I[]) => Promise<O[]>;
  /** Whether an item may linger for others to share a request. Default: none may. */
  mayLinger?: (item: I) => boolean;
  /** The API refused an item. */
  refused?: (error: InternalApiRefusal) => void;
  clock?: Clock;
}

export const ITEM_BYTES = 500;
const MAX_BATCH_BYTES = 2_000_000;
const LINGER_MS = 250;

interface Pending<I, O> {
  item: I;
  resolve: (result: O) => void;
  reject: (error: unknown) => void;
}

/**
 * Sends items in order and in batches, one request at a time. Items that arrive during a request go into the next
 * one, so a burst needs few requests. Items that may linger go with the next item that may not, or after 250 ms.
 *
 * If the API refuses a batch as invalid, its items are sent one by one, so that a bad item does not affect the
 * others. A bad item alone is given up, because it would be refused every time.
 */
export class BatchSender<I, O> {
  readonly #options: BatchSenderOptions<I, O>;
  readonly #pending: Pending<I, O>[] = [];
  #running: Promise<void> | undefined;
  readonly #clock: Clock;
  /** Cancels the linger timer. */
  #cancelLinger: (() => void) | undefined;

  constructor(options: BatchSenderOptions<I, O>) {
    this.#options = options;
    this.#clock = options.clock ?? processClock;
  }

  /** Resolves once the item is stored. */
  push(item: I): Promise<O> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ item, resolve, reject });
      if (this.#running) return;
      if (this.#mayLinger(item)) this.#cancelLinger ??= this.#clock.after(LINGER_MS, () => this.#start());
      else this.#start();
    });
  }

  /** Resolves when nothing is pending. */
  async drain(): Promise<void> {
    while (this.#pending.length > 0 || this.#running) {
      this.#start();
      await this.#running;
    }
  }

  #mayLinger(item: I): boolean {
    return this.#options.mayLinger?.(item) ?? false;
  }

  #start(): void {
    this.#cancelLinger?.();
    this.#cancelLinger = undefined;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // Items of the same turn of the event loop share a request.
    await new Promise(setImmediate);
    do await this.#sendBatch(this.#takeBatch());
    while (this.#pending.some(({ item }) => !this.#mayLinger(item)));
    this.#running = undefined;
    if (this.#pending.length > 0) this.#cancelLinger = this.#clock.after(LINGER_MS, () => this.#start());
  }

  #takeBatch(): Pending<I, O>[] {
    let bytes = 0;
    let count = 0;
    for (const { item } of this.#pending) {
      bytes += this.#options.estimateBytes?.(item) ?? ITEM_BYTES;
      if (count > 0 && (count >= this.#options.maxItems || bytes > MAX_BATCH_BYTES)) break;
      count += 1;
    }
    return this.#pending.splice(0, count);
  }

  async #sendBatch(group: Pending<I, O>[]): Promise<void> {
    try {
      const results = await this.#options.send(group.map(({ item }) => item));
      group.forEach(({ resolve }, i) => resolve(results[i]!));
    } catch (error) {
      if (error instanceof InternalApiRefusal && group.length > 1) {
        for (const one of group) await this.#sendBatch([one]);
        return;
      }
      if (error instanceof InternalApiRefusal) this.#options.refused?.(error);
      for (const { reject } of group) reject(error);
    }
  }
}
