import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import type { Logger } from '@gwk/core/log';
import { processClock, type Clock } from '@gwk/core/clock';

export interface BatchSenderOptions<I, O> {
  name: string;
  maxItems: number;
  /** Size of an item in a request, in bytes, roughly. */
  estimateBytes: (item: I) => number;
  /** Repeats until answered; throws when the port is closed or refuses the request as invalid. */
  send: (items: I[]) => Promise<O[]>;
  /** Whether an item may wait a moment for others, to travel with them. None may when it is not given. */
  mayLinger?: (item: I) => boolean;
  log: Logger;
  clock?: Clock;
}

const MAX_BATCH_BYTES = 2_000_000;
const LINGER_MS = 250;

interface Pending<I, O> {
  item: I;
  resolve: (result: O) => void;
  reject: (error: unknown) => void;
}

/**
 * Posts items in the order given, in groups, one request at a time: what arrives while one is under way makes the
 * next. So everything written through one poster is stored in order, and a burst costs few requests. Patient items
 * go with the next that is not, or when the first of them has waited for a moment.
 *
 * A group that is refused as invalid is posted again item by item, so that one bad item harms no other; a bad one
 * alone is given up, since it would be refused for ever.
 */
export class BatchSender<I, O> {
  readonly #options: BatchSenderOptions<I, O>;
  readonly #pending: Pending<I, O>[] = [];
  #running: Promise<void> | undefined;
  readonly #clock: Clock;
  /** Ends the wait of patient items. */
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

  /** Resolves when nothing waits any more. */
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
    // What is pushed in the same turn of the event loop travels together.
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
      bytes += this.#options.estimateBytes(item);
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
      if (error instanceof InternalApiRefusal) {
        this.#options.log.error(
          { what: this.#options.name, err: error },
          'the internal port refuses an item',
        );
      }
      for (const { reject } of group) reject(error);
    }
  }
}
