import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import type { Logger } from '@gwk/core/log';
import { processClock, type Clock } from '@gwk/core/clock';

export interface PosterOptions<I, O> {
  name: string;
  maxItems: number;
  /** Size of an item in a request, in bytes, roughly. */
  weigh: (item: I) => number;
  /** Repeats until answered; throws when the port is closed or refuses the request as invalid. */
  post: (items: I[]) => Promise<O[]>;
  /** Whether an item may wait a moment for others, to travel with them. None may when it is not given. */
  patient?: (item: I) => boolean;
  log: Logger;
  clock?: Clock;
}

const MAX_GROUP_BYTES = 2_000_000;
const PATIENCE_MS = 250;

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
export class Poster<I, O> {
  readonly #options: PosterOptions<I, O>;
  readonly #pending: Pending<I, O>[] = [];
  #running: Promise<void> | undefined;
  readonly #clock: Clock;
  /** Ends the wait of patient items. */
  #patience: (() => void) | undefined;

  constructor(options: PosterOptions<I, O>) {
    this.#options = options;
    this.#clock = options.clock ?? processClock;
  }

  /** Resolves once the item is stored. */
  push(item: I): Promise<O> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ item, resolve, reject });
      if (this.#running) return;
      if (this.#isPatient(item)) this.#patience ??= this.#clock.after(PATIENCE_MS, () => this.#start());
      else this.#start();
    });
  }

  /** Resolves when nothing waits any more. */
  async drained(): Promise<void> {
    while (this.#pending.length > 0 || this.#running) {
      this.#start();
      await this.#running;
    }
  }

  #isPatient(item: I): boolean {
    return this.#options.patient?.(item) ?? false;
  }

  #start(): void {
    this.#patience?.();
    this.#patience = undefined;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // What is pushed in the same turn of the event loop travels together.
    await new Promise(setImmediate);
    do await this.#postGroup(this.#takeGroup());
    while (this.#pending.some(({ item }) => !this.#isPatient(item)));
    this.#running = undefined;
    if (this.#pending.length > 0) this.#patience = this.#clock.after(PATIENCE_MS, () => this.#start());
  }

  #takeGroup(): Pending<I, O>[] {
    let bytes = 0;
    let count = 0;
    for (const { item } of this.#pending) {
      bytes += this.#options.weigh(item);
      if (count > 0 && (count >= this.#options.maxItems || bytes > MAX_GROUP_BYTES)) break;
      count += 1;
    }
    return this.#pending.splice(0, count);
  }

  async #postGroup(group: Pending<I, O>[]): Promise<void> {
    try {
      const results = await this.#options.post(group.map(({ item }) => item));
      group.forEach(({ resolve }, i) => resolve(results[i]!));
    } catch (error) {
      if (error instanceof InternalApiRefusal && group.length > 1) {
        for (const one of group) await this.#postGroup([one]);
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
