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
   * Any number for an item; `inFlight` lanes are made of it. A lane has one group under way at a time: for items that
   * would wait for each other in the database, and hold up all others of their group meanwhile.
   */
  laneOf?(item: T): number;
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

interface Lane<T, R> {
  queue: Pending<T, R>[];
  busy: boolean;
}

interface Group<T, R> {
  lane: Lane<T, R>;
  members: Pending<T, R>[];
}

export class Batcher<T, R> {
  readonly #options: BatcherOptions<T, R>;
  readonly #maxItems: number;
  readonly #inFlight: number;
  readonly #lanes: Lane<T, R>[];
  readonly #running = new Set<Pending<T, R>>();
  readonly #groups = new Set<Group<T, R>>();
  #scheduled = false;
  #waiting = false;
  #sweep: NodeJS.Timeout | undefined;

  constructor(options: BatcherOptions<T, R>) {
    this.#options = options;
    this.#maxItems = options.maxItems ?? MAX_ITEMS;
    this.#inFlight = options.inFlight ?? IN_FLIGHT;
    const lanes = options.laneOf ? this.#inFlight : 1;
    this.#lanes = Array.from({ length: lanes }, () => ({ queue: [], busy: false }));
  }

  submit(item: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const lane = this.#lanes[(this.#options.laneOf?.(item) ?? 0) % this.#lanes.length]!;
      lane.queue.push({ item, resolve, reject, since: performance.now() });
      this.#watch();
      this.#schedule();
    });
  }

  /** Items not answered yet. */
  get size(): number {
    return this.#lanes.reduce((sum, { queue }) => sum + queue.length, this.#running.size);
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
    while (this.#groups.size < this.#inFlight) {
      const lane = this.#fullest();
      if (!lane) return;
      if (!this.#isWorthwhile(lane)) return this.#wait();
      this.#start(lane);
    }
  }

  /** Of the lanes that may go. */
  #fullest(): Lane<T, R> | undefined {
    let fullest: Lane<T, R> | undefined;
    for (const lane of this.#lanes) {
      const mayGo = lane.queue.length > 0 && !(lane.busy && this.#options.laneOf);
      if (mayGo && lane.queue.length > (fullest?.queue.length ?? 0)) fullest = lane;
    }
    return fullest;
  }

  #wait(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    setTimeout(() => {
      this.#waiting = false;
      this.#pump();
    }, PATIENCE_MS);
  }

  #isWorthwhile({ queue }: Lane<T, R>): boolean {
    let largest = 0;
    for (const { members } of this.#groups) largest = Math.max(largest, members.length);
    const company = Math.min(largest / 2, this.#maxItems);
    return queue.length >= company || performance.now() - queue[0]!.since >= PATIENCE_MS;
  }

  #start(lane: Lane<T, R>): void {
    const group = { lane, members: lane.queue.slice(0, this.#maxItems) };
    lane.queue = lane.queue.slice(this.#maxItems);
    lane.busy = true;
    for (const pending of group.members) this.#running.add(pending);
    this.#groups.add(group);
    void this.#run(group.members).finally(() => {
      lane.busy = false;
      this.#groups.delete(group);
      for (const pending of group.members) this.#running.delete(pending);
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
    const waiting = this.#lanes.flatMap(({ queue }) => queue);
    const late = [...waiting, ...this.#running].filter(({ since }) => since <= before);
    if (late.length > 0) {
      const error = this.#options.onTimeout?.() ?? new Error('no answer in time');
      // A promise settles once: what a late group still answers changes nothing.
      for (const pending of late) pending.reject(error);
      for (const lane of this.#lanes) lane.queue = lane.queue.filter(({ since }) => since > before);
    }
    if (this.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }
}
