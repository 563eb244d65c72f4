/**
 * Groups what arrives at about the same time, so that a database does one statement's work for many.
 *
 * A group is taken at the end of the event loop's turn: nothing waits for company, and the more there is to do the
 * larger the groups become. Two groups are under way at once, so that one decides while the other is written; but a
 * group costs as much again as many of its items, so a second one starts only once it is half as large as the first, or
 * has waited for a few milliseconds. Where a group costs that much (`gather`), it waits for company whenever some can be
 * expected, and a second one until it is nearly as large as the first.
 */
export interface BatcherOptions<T, R> {
  /** Answers in the order of the items, one for each. A rejection concerns the whole group. */
  run(items: readonly T[]): Promise<readonly R[]>;
  maxItems?: number;
  inFlight?: number;
  /**
   * Any number for an item; `inFlight` lanes are made of it. A lane has one group under way at a time: for items that
   * would wait for each other in the database, and hold up all others of their group meanwhile. While there is little
   * to do, one group takes all of them, and the next one stands behind it in the database: it goes on the moment the
   * first is done, while the answers to the first are still on their way.
   */
  laneOf?(item: T): number;
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
/** Times `gather.items`: with more than that to do, lanes go side by side. */
const TOO_MUCH_FOR_ONE = 1.5;
/** Of the items of the group under way: with so many a second one starts. */
const [HALF, NEARLY_ALL] = [0.5, 0.8];

interface Lane<T, R> {
  queue: Pending<T, R>[];
}

interface Chosen<T, R> {
  lanes: Lane<T, R>[];
  /** Of whatever lane: nothing goes beside it without waiting for it. */
  mixed: boolean;
}

interface Group<T, R> extends Chosen<T, R> {
  members: Pending<T, R>[];
}

export class Batcher<T, R> {
  readonly #options: BatcherOptions<T, R>;
  readonly #maxItems: number;
  readonly #inFlight: number;
  readonly #lanes: Lane<T, R>[];
  /** Under way; an array for the reason that a bag is one (bag.ts). */
  #groups: Group<T, R>[] = [];
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
    const lanes = options.laneOf ? this.#inFlight : 1;
    this.#lanes = Array.from({ length: lanes }, () => ({ queue: [] }));
  }

  submit(item: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const lane = this.#lanes[(this.#options.laneOf?.(item) ?? 0) % this.#lanes.length]!;
      const since = performance.now();
      this.#gapMs += GAP_WEIGHT * (Math.min(since - this.#lastAt, MAX_GAP_MS) - this.#gapMs);
      this.#lastAt = since;
      lane.queue.push({ item, resolve, reject, since });
      this.#watch();
      this.#schedule();
    });
  }

  /** Items not answered yet. */
  get size(): number {
    return itemsOf(this.#lanes) + this.#groups.reduce((sum, { members }) => sum + members.length, 0);
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
    while (this.#groups.length < this.#inFlight) {
      const next = this.#next();
      if (next.lanes.length === 0) return;
      const patience = itemsOf(next.lanes) < this.#company() ? this.#patience(next.lanes) : 0;
      if (patience > 0) return this.#wait(patience);
      this.#start(next);
    }
  }

  /** For how many milliseconds more these wait for company. */
  #patience(lanes: readonly Lane<T, R>[]): number {
    const { ms = PATIENCE_MS, quietMs = Infinity } = this.#options.gather ?? {};
    const now = performance.now();
    const waited = now - Math.min(...lanes.map(({ queue }) => queue[0]!.since));
    if (this.#groups.length > 0) return ms - waited;
    return Math.min(ms - waited, quietMs - (now - this.#lastAt));
  }

  /** The lanes that the next group is to be of. */
  #next(): Chosen<T, R> {
    const waiting = this.#lanes.filter(({ queue }) => queue.length > 0);
    const { gather } = this.#options;
    if (this.#options.laneOf === undefined) return { lanes: waiting, mixed: true };
    const little = gather !== undefined && itemsOf(waiting) <= gather.items * TOO_MUCH_FOR_ONE;
    const [first] = this.#groups;
    if (first?.mixed) return { lanes: little ? waiting : [], mixed: true };
    if (!first && little) return { lanes: waiting, mixed: true };
    const free = waiting.filter((lane) => !this.#groups.some(({ lanes }) => lanes.includes(lane)));
    return { lanes: free.sort((a, b) => b.queue.length - a.queue.length).slice(0, 1), mixed: false };
  }

  /** How many a group is to have before it starts. */
  #company(): number {
    const { gather } = this.#options;
    let largest = 0;
    for (const { members } of this.#groups) largest = Math.max(largest, members.length);
    if (largest > 0) return Math.min(largest * (gather ? NEARLY_ALL : HALF), this.#maxItems);
    return gather && this.#gapMs * EXPECTED <= gather.ms ? gather.items : 0;
  }

  /** What lies in sockets by then is read first: it may be the company. */
  #wait(milliseconds: number): void {
    this.#waiting = setTimeout(() => this.#schedule(), milliseconds);
  }

  #start({ lanes, mixed }: Chosen<T, R>): void {
    const members = lanes.flatMap((lane) => {
      const taken = lane.queue.slice(0, this.#maxItems);
      lane.queue = lane.queue.slice(this.#maxItems);
      return taken;
    });
    const group = { lanes, mixed, members };
    this.#groups.push(group);
    void this.#run(members).finally(() => {
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
    const waiting = this.#lanes.flatMap(({ queue }) => queue);
    const running = this.#groups.flatMap(({ members }) => members);
    const late = [...waiting, ...running].filter(({ since }) => since <= before);
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

function itemsOf(lanes: readonly { queue: readonly unknown[] }[]): number {
  return lanes.reduce((sum, { queue }) => sum + queue.length, 0);
}
