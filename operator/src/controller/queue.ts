import { backoffDelay } from '@gwk/core/async/backoff';
import { FairQueue } from './fair-queue.js';

export interface Backoff {
  firstMs: number;
  maxMs: number;
  /** In [0, 1). Tests pass a constant. */
  random: () => number;
}

export const RETRY_BACKOFF: Backoff = { firstMs: 1000, maxMs: 300_000, random: Math.random };

/** Minus a random fifth at most, but never less than `firstMs`. */
export function backoffMs(failures: number, { firstMs, maxMs, random }: Backoff): number {
  return Math.max(firstMs, backoffDelay({ firstMs, maxMs, jitter: 0.2 }, failures, 1 - random()));
}

/**
 * Why a key is reconciled.
 *
 * - `event`: a change of its resource or pod
 * - `facts`: a change that the API reported
 * - `turn`: its turn in an upgrade
 * - `resync`: every 5 minutes
 * - `recheck`: a timer that a decision set
 * - `retry`: a failure
 */
export const CAUSES = ['event', 'facts', 'turn', 'resync', 'recheck', 'retry'] as const;
export type Cause = (typeof CAUSES)[number];

type Work = (key: string, cause: Cause) => Promise<void>;

interface Timer {
  at: number;
  handle: NodeJS.Timeout;
}

/**
 * Work queue of a controller. It holds keys, not events, so that several changes cause one reconcile.
 *
 *   add ──> dirty ──take──> processing ──done──> (dirty again if added meanwhile)
 *             ^
 *   addAfter, retry (timers)
 *
 * A key is `processing` at most once, so two reconciles never run for one instance. A key added meanwhile stays dirty
 * and is processed again, so no change is missed.
 */
export class WorkQueue {
  readonly #ready = new FairQueue();
  readonly #dirty = new Map<string, Cause>();
  readonly #processing = new Set<string>();
  readonly #timers = new Map<string, Timer>();
  readonly #failures = new Map<string, number>();
  readonly #backoff: Backoff;
  #running = 0;
  #closed = false;
  #work: Work | undefined;
  #concurrency = 0;
  #idle: (() => void)[] = [];

  /** @param isFresh whether a key is one of a burst, which waits behind others of its namespace */
  constructor(
    backoff: Backoff = RETRY_BACKOFF,
    private readonly isFresh: (key: string) => boolean = () => false,
  ) {
    this.#backoff = backoff;
  }

  /** Keys waiting or processing. */
  get depth(): number {
    return this.#dirty.size + this.#processing.size;
  }

  countFailures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** `work` must not throw; it schedules its own retries. */
  start(concurrency: number, work: Work): void {
    this.#work = work;
    this.#concurrency = concurrency;
    this.#pump();
  }

  /** A key that waits keeps its first cause. */
  add(key: string, cause: Cause): void {
    if (this.#closed || this.#dirty.has(key)) return;
    this.#dirty.set(key, cause);
    if (this.#processing.has(key)) return;
    this.#ready.push(key, this.isFresh(key));
    this.#pump();
  }

  /** Keeps only the earliest of several timers for one key. */
  addAfter(key: string, ms: number, cause: Cause = 'recheck'): void {
    if (this.#closed) return;
    const at = Date.now() + ms;
    const waiting = this.#timers.get(key);
    if (waiting && waiting.at <= at) return;
    if (waiting) clearTimeout(waiting.handle);
    const handle = setTimeout(() => {
      this.#timers.delete(key);
      this.add(key, cause);
    }, ms);
    this.#timers.set(key, { at, handle });
  }

  /** Schedules a retry with exponential backoff. @returns the delay */
  retry(key: string): number {
    const failures = this.countFailures(key) + 1;
    this.#failures.set(key, failures);
    const ms = backoffMs(failures, this.#backoff);
    this.addAfter(key, ms, 'retry');
    return ms;
  }

  /** Resets the backoff after a success. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Accepts no more keys. Resolves when the running work is done. */
  close(): Promise<void> {
    this.#closed = true;
    for (const { handle } of this.#timers.values()) clearTimeout(handle);
    this.#timers.clear();
    this.#ready.clear();
    this.#dirty.clear();
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #pump(): void {
    while (this.#work && this.#running < this.#concurrency) {
      const key = this.#ready.shift();
      if (key === undefined) return;
      const cause = this.#dirty.get(key)!;
      this.#dirty.delete(key);
      this.#processing.add(key);
      this.#running++;
      void this.#work(key, cause).finally(() => this.#done(key));
    }
  }

  #done(key: string): void {
    this.#running--;
    this.#processing.delete(key);
    if (this.#dirty.has(key)) this.#ready.push(key, this.isFresh(key));
    if (this.#running === 0) for (const resolve of this.#idle.splice(0)) resolve();
    this.#pump();
  }
}
