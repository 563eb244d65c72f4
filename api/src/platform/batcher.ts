interface BatcherOptions<T, R> {
  /** Returns one result for each item, in the order of the items. A rejection concerns the whole batch. */
  run(items: readonly T[]): Promise<readonly R[]>;
  maxItems?: number;
  /** Batches that run at once; 2 by default. */
  inFlight?: number;
  /** Under load, a batch starts when it has `minItems`, or after `maxWaitMs`. */
  linger?: { minItems: number; maxWaitMs: number };
  /**
   * Whether a rejected batch had no effect, for a reason that may lie in one of its items. The batcher then runs its
   * halves one after the other, until only the faulty items fail.
   */
  mayIsolate?(error: unknown): boolean;
  /** An item without a result after this time is rejected with the error of `onTimeout`. Its batch continues. */
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
const CHECKS_PER_DEADLINE = 10;
const MAX_WAIT_MS = 5;
/** "Under load": at least this many more calls can be expected while a batch waits. A call has one or more items. */
const MIN_EXPECTED_CALLS = 3;
/** Moving average of the gap between two calls: weight of the latest gap, and upper limit of a gap. */
const [GAP_WEIGHT, MAX_GAP_MS] = [0.1, 100];
/** The next batch starts when it has this share of the items of the running one. */
const MIN_SHARE = 0.5;

/**
 * Collects items that arrive at about the same time into batches, so that one database statement serves many of them.
 *
 * By default a batch starts at the end of the event loop's turn, so that load alone makes batches larger. Each batch has
 * a fixed cost. While one batch runs, the next therefore starts at half its size, or after 5 ms. With `linger`, each
 * batch waits for more items whenever more calls can be expected, whatever else runs.
 */
export class Batcher<T, R> {
  readonly #options: BatcherOptions<T, R>;
  readonly #maxItems: number;
  readonly #inFlight: number;
  #queue: Pending<T, R>[] = [];
  /** Running batches. An array for the reason stated in in-flight-set.ts. */
  #batches: Pending<T, R>[][] = [];
  #scheduled = false;
  #waitTimer: NodeJS.Timeout | undefined;
  /** The items of this turn are counted as one call. */
  #isCounted = false;
  /** Average gap between two calls, and arrival of the last one. */
  #gapMs = MAX_GAP_MS;
  #lastAt = -Infinity;
  #deadlineTimer: NodeJS.Timeout | undefined;

  constructor(options: BatcherOptions<T, R>) {
    this.#options = options;
    this.#maxItems = options.maxItems ?? MAX_ITEMS;
    this.#inFlight = options.inFlight ?? IN_FLIGHT;
  }

  submit(item: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const since = performance.now();
      // Items of one turn are one call, and its caller asks again only after the answer.
      if (!this.#isCounted) this.#countCall(since);
      this.#queue.push({ item, resolve, reject, since });
      this.#watchDeadlines();
      this.#schedule();
    });
  }

  /** Items without a result. */
  get size(): number {
    return this.#batches.reduce((sum, batch) => sum + batch.length, this.#queue.length);
  }

  #countCall(now: number): void {
    this.#isCounted = true;
    this.#gapMs += GAP_WEIGHT * (Math.min(now - this.#lastAt, MAX_GAP_MS) - this.#gapMs);
    this.#lastAt = now;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#isCounted = false;
      this.#pump();
    });
  }

  #pump(): void {
    clearTimeout(this.#waitTimer);
    while (this.#batches.length < this.#inFlight && this.#queue.length > 0) {
      const waitMs = this.#queue.length < this.#minBatch() ? this.#remainingWaitMs() : 0;
      if (waitMs > 0) return this.#wait(waitMs);
      this.#start();
    }
  }

  /** The number of items at which the next batch starts without waiting. */
  #minBatch(): number {
    const { linger } = this.#options;
    if (linger) return this.#gapMs * MIN_EXPECTED_CALLS <= linger.maxWaitMs ? linger.minItems : 0;
    let largest = 0;
    for (const batch of this.#batches) largest = Math.max(largest, batch.length);
    return Math.min(largest * MIN_SHARE, this.#maxItems);
  }

  /** How long the queue still waits for more items. */
  #remainingWaitMs(): number {
    const { maxWaitMs = MAX_WAIT_MS } = this.#options.linger ?? {};
    return maxWaitMs - (performance.now() - this.#queue[0]!.since);
  }

  /** Starts no batch from the timer itself: items that wait in sockets are read first, and may join. */
  #wait(milliseconds: number): void {
    this.#waitTimer = setTimeout(() => this.#schedule(), milliseconds);
  }

  #start(): void {
    const batch = this.#queue.slice(0, this.#maxItems);
    this.#queue = this.#queue.slice(this.#maxItems);
    this.#batches.push(batch);
    void this.#run(batch).finally(() => {
      this.#batches = this.#batches.filter((other) => other !== batch);
      // Callers get their results first, and may submit the next item at once.
      this.#schedule();
    });
  }

  async #run(batch: Pending<T, R>[]): Promise<void> {
    try {
      const results = await this.#options.run(batch.map(({ item }) => item));
      batch.forEach((pending, index) => pending.resolve(results[index]!));
    } catch (error) {
      if (batch.length === 1 || !this.#options.mayIsolate?.(error)) {
        for (const pending of batch) pending.reject(error);
        return;
      }
      const half = Math.ceil(batch.length / 2);
      await this.#run(batch.slice(0, half));
      await this.#run(batch.slice(half));
    }
  }

  /** One timer for the deadlines of all items. It stops when no item is left. */
  #watchDeadlines(): void {
    const { deadlineMs } = this.#options;
    if (deadlineMs === undefined || this.#deadlineTimer !== undefined) return;
    this.#deadlineTimer = setInterval(() => this.#rejectLate(deadlineMs), deadlineMs / CHECKS_PER_DEADLINE);
  }

  #rejectLate(deadlineMs: number): void {
    const before = performance.now() - deadlineMs;
    const late = [...this.#queue, ...this.#batches.flat()].filter(({ since }) => since <= before);
    if (late.length > 0) {
      const error = this.#options.onTimeout?.() ?? new Error('no result in time');
      // A promise settles once, so a later result of the batch has no effect.
      for (const pending of late) pending.reject(error);
      this.#queue = this.#queue.filter(({ since }) => since > before);
    }
    if (this.size > 0) return;
    clearInterval(this.#deadlineTimer);
    this.#deadlineTimer = undefined;
  }
}
