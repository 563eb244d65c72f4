/**
 * Groups what arrives at about the same time, so that a database does one statement's work for many.
 *
 * A group is taken at the end of the event loop's turn: nothing waits for company, and the more there is to do the
 * larger the groups become. Two groups are under way at once, so that one decides while the other is written; but a
 * group costs as much again as many of its items, so a second one starts only once it is half as large as the first, or
 * has waited for a few milliseconds.
 */
export interface BatcherOptions<T, R> {
  /** Answers in the order of the items, one for each. A rejection concerns the whole group. */
  run(items: readonly T[]): Promise<readonly R[]>;
  maxItems?: number;
  inFlight?: number;
  /**
   * Whether a rejected group was left undone as a whole for a reason that may lie in one of its items: then its halves
   * are run again apart, until only the items at fault fail.
   */
  mayIsolate?(error: unknown): boolean;
  /** How long an item may go unanswered before `onTimeout`'s error; its group goes on alone. */
  deadlineMs?: number;
  onTimeout?(): Error;
}

interface Pending<T, R> {
  item: T;
  resolve(result: R): void;
  reject(error: unknown): void;
  since: number;
}

const MAX_ITEMS = 128;
const IN_FLIGHT = 2;
const SWEEPS_PER_DEADLINE = 10;
const PATIENCE_MS = 5;

export class Batcher<T, R> {
  readonly #options: BatcherOptions<T, R>;
  readonly #maxItems: number;
  readonly #inFlight: number;
  #queue: Pending<T, R>[] = [];
  readonly #running = new Set<Pending<T, R>>();
  /** Sizes of the groups under way. */
  readonly #groups: number[] = [];
  #scheduled = false;
  #waiting = false;
  #sweep: NodeJS.Timeout | undefined;

  constructor(options: BatcherOptions<T, R>) {
    this.#options = options;
    this.#maxItems = options.maxItems ?? MAX_ITEMS;
    this.#inFlight = options.inFlight ?? IN_FLIGHT;
  }

  submit(item: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      this.#queue.push({ item, resolve, reject, since: performance.now() });
      this.#watch();
      this.#schedule();
    });
  }

  /** Items not answered yet. */
  get size(): number {
    return this.#queue.length + this.#running.size;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#groups.length < this.#inFlight && this.#queue.length > 0) {
      if (!this.#isWorthwhile()) return this.#wait();
      this.#start();
    }
  }

  #wait(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    setTimeout(() => {
      this.#waiting = false;
      this.#pump();
    }, PATIENCE_MS);
  }

  #isWorthwhile(): boolean {
    const company = Math.min(Math.max(0, ...this.#groups) / 2, this.#maxItems);
    return this.#queue.length >= company || performance.now() - this.#queue[0]!.since >= PATIENCE_MS;
  }

  #start(): void {
    const group = this.#queue.slice(0, this.#maxItems);
    this.#queue = this.#queue.slice(this.#maxItems);
    for (const pending of group) this.#running.add(pending);
    this.#groups.push(group.length);
    void this.#run(group).finally(() => {
      this.#groups.splice(this.#groups.indexOf(group.length), 1);
      for (const pending of group) this.#running.delete(pending);
      // The answers go out first: who gets one may have the next request ready.
      this.#schedule();
    });
  }

  async #run(group: Pending<T, R>[]): Promise<void> {
    try {
      const results = await this.#options.run(group.map(({ item }) => item));
      group.forEach((pending, index) => pending.resolve(results[index]!));
    } catch (error) {
      if (group.length === 1 || !this.#options.mayIsolate?.(error)) {
        for (const pending of group) pending.reject(error);
        return;
      }
      const half = Math.ceil(group.length / 2);
      await this.#run(group.slice(0, half));
      await this.#run(group.slice(half));
    }
  }

  /** One timer for all items: it stops when there is nothing to watch. */
  #watch(): void {
    const { deadlineMs } = this.#options;
    if (deadlineMs === undefined || this.#sweep !== undefined) return;
    this.#sweep = setInterval(() => this.#rejectLate(deadlineMs), deadlineMs / SWEEPS_PER_DEADLINE);
  }

  #rejectLate(deadlineMs: number): void {
    const before = performance.now() - deadlineMs;
    const late = [...this.#queue, ...this.#running].filter(({ since }) => since <= before);
    if (late.length > 0) {
      const error = this.#options.onTimeout?.() ?? new Error('no answer in time');
      // A promise settles once: what a late group still answers changes nothing.
      for (const pending of late) pending.reject(error);
      this.#queue = this.#queue.filter(({ since }) => since > before);
    }
    if (this.#queue.length > 0 || this.#running.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }
}
