/**
 * Groups what arrives at about the same time, so that a database does one statement's work for many.
 *
 * A group is taken at the end of the event loop's turn: nothing waits for company, and the more there is to do the
 * larger the groups become. Two groups (`inFlight`) are under way at once, so that one decides while the other is
 * written; but a group costs as much again as many of its items, so a second one starts only once it is half as large as
 * the first, or has waited for a few milliseconds. Where a group costs that much (`gather`), each waits for company
 * whenever some can be expected, and none by the size of another.
 */
export interface BatcherOptions<T, R> {
  /** Answers in the order of the items, one for each. A rejection concerns the whole group. */
  run(items: readonly T[]): Promise<readonly R[]>;
  maxItems?: number;
  /**
   * A group takes no more than so many, or half of what waits: all in one, they would be answered at the same moment, ask
   * again at the same moment, and leave whoever runs them without work meanwhile.
   */
  atOnce?: number;
  inFlight?: number;
  /**
   * Under load, a group is to have so many items before it starts, or has waited for so many milliseconds. `quietMs`: or
   * nothing came for so long, where none is under way: few who each wait for an answer before they ask again have all
   * asked by then.
   */
  gather?: { items: number; ms: number; quietMs?: number };
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
/** Under load: so many more are to be expected while a group waits. */
const EXPECTED = 3;
/** How much the last gap between two items counts for the usual one, and the longest that counts. */
const [GAP_WEIGHT, MAX_GAP_MS] = [0.1, 100];
/** Of the items of the group under way: with so many a second one starts. */
const HALF = 0.5;

export class Batcher<T, R> {
  readonly #options: BatcherOptions<T, R>;
  readonly #maxItems: number;
  readonly #inFlight: number;
  #queue: Pending<T, R>[] = [];
  /** Under way; an array for the reason that a bag is one (bag.ts). */
  #groups: Pending<T, R>[][] = [];
  #scheduled = false;
  #waiting: NodeJS.Timeout | undefined;
  /** The usual gap between two items, and when the last one came. */
  #gapMs = MAX_GAP_MS;
  #lastAt = -Infinity;
  #sweep: NodeJS.Timeout | undefined;

  constructor(options: BatcherOptions<T, R>) {
    this.#options = options;
    this.#maxItems = options.maxItems ?? MAX_ITEMS;
    this.#inFlight = options.inFlight ?? IN_FLIGHT;
  }

  submit(item: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const since = performance.now();
      this.#gapMs += GAP_WEIGHT * (Math.min(since - this.#lastAt, MAX_GAP_MS) - this.#gapMs);
      this.#lastAt = since;
      this.#queue.push({ item, resolve, reject, since });
      this.#watch();
      this.#schedule();
    });
  }

  /** Items not answered yet. */
  get size(): number {
    return this.#groups.reduce((sum, group) => sum + group.length, this.#queue.length);
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
    clearTimeout(this.#waiting);
    while (this.#groups.length < this.#inFlight && this.#queue.length > 0) {
      const patience = this.#queue.length < this.#company() ? this.#patience() : 0;
      if (patience > 0) return this.#wait(patience);
      this.#start();
    }
  }

  /** How many a group is to have before it starts. */
  #company(): number {
    const { gather } = this.#options;
    if (gather) return this.#gapMs * EXPECTED <= gather.ms ? gather.items : 0;
    let largest = 0;
    for (const group of this.#groups) largest = Math.max(largest, group.length);
    return Math.min(largest * HALF, this.#maxItems);
  }

  /** For how many milliseconds more those in the queue wait for company. */
  #patience(): number {
    const { ms = PATIENCE_MS, quietMs = Infinity } = this.#options.gather ?? {};
    const now = performance.now();
    const left = ms - (now - this.#queue[0]!.since);
    return this.#groups.length > 0 ? left : Math.min(left, quietMs - (now - this.#lastAt));
  }

  /** What lies in sockets by then is read first: it may be the company. */
  #wait(milliseconds: number): void {
    this.#waiting = setTimeout(() => this.#schedule(), milliseconds);
  }

  #start(): void {
    const { atOnce = this.#maxItems } = this.#options;
    const size = Math.min(this.#maxItems, Math.max(atOnce, Math.ceil(this.#queue.length / 2)));
    const group = this.#queue.slice(0, size);
    this.#queue = this.#queue.slice(size);
    this.#groups.push(group);
    void this.#run(group).finally(() => {
      this.#groups = this.#groups.filter((other) => other !== group);
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
    const late = [...this.#queue, ...this.#groups.flat()].filter(({ since }) => since <= before);
    if (late.length > 0) {
      const error = this.#options.onTimeout?.() ?? new Error('no answer in time');
      // A promise settles once: what a late group still answers changes nothing.
      for (const pending of late) pending.reject(error);
      this.#queue = this.#queue.filter(({ since }) => since > before);
    }
    if (this.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }
}
