/**
 * The work queue of a controller: keys, never events, so that what happened many times is looked at once.
 *
 *   add ──> dirty ──take──> processing ──done──> (dirty again if added meanwhile)
 *             ^
 *   addAfter, retry (timers)
 *
 * A key is in `processing` at most once: two passes never work on one instance at the same time. A key added while
 * it is processed stays dirty and is taken again afterwards, so no change is missed.
 */
export interface Backoff {
  firstMs: number;
  maxMs: number;
  /** In [0, 1); tests give a constant. */
  random: () => number;
}

export const RETRY_BACKOFF: Backoff = { firstMs: 1000, maxMs: 300_000, random: Math.random };

/** Doubles from `firstMs` to `maxMs`; up to a fifth is taken off at random, so that what failed together returns apart. */
export function backoffMs(failures: number, { firstMs, maxMs, random }: Backoff): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 40));
  return Math.max(firstMs, Math.round(full * (1 - random() / 5)));
}

interface Timer {
  at: number;
  handle: NodeJS.Timeout;
}

export class WorkQueue {
  readonly #ready: string[] = [];
  readonly #dirty = new Set<string>();
  readonly #processing = new Set<string>();
  readonly #timers = new Map<string, Timer>();
  readonly #failures = new Map<string, number>();
  readonly #backoff: Backoff;
  #running = 0;
  #closed = false;
  #work: ((key: string) => Promise<void>) | undefined;
  #width = 0;
  #idle: (() => void)[] = [];

  constructor(backoff: Backoff = RETRY_BACKOFF) {
    this.#backoff = backoff;
  }

  /** Keys waiting or being worked on. */
  get depth(): number {
    return this.#dirty.size + this.#processing.size;
  }

  failuresOf(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** `work` must not throw: it says itself what to retry. */
  start(width: number, work: (key: string) => Promise<void>): void {
    this.#work = work;
    this.#width = width;
    this.#pump();
  }

  add(key: string): void {
    if (this.#closed || this.#dirty.has(key)) return;
    this.#dirty.add(key);
    if (this.#processing.has(key)) return;
    this.#ready.push(key);
    this.#pump();
  }

  /** The earliest of several wishes for one key holds. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return;
    const at = Date.now() + ms;
    const waiting = this.#timers.get(key);
    if (waiting && waiting.at <= at) return;
    if (waiting) clearTimeout(waiting.handle);
    const handle = setTimeout(() => {
      this.#timers.delete(key);
      this.add(key);
    }, ms);
    this.#timers.set(key, { at, handle });
  }

  /** After a failure: later, and each time later still. */
  retry(key: string): number {
    const failures = this.failuresOf(key) + 1;
    this.#failures.set(key, failures);
    const ms = backoffMs(failures, this.#backoff);
    this.addAfter(key, ms);
    return ms;
  }

  /** After a success: the next failure counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Takes nothing more; resolves when what is being worked on is done. */
  close(): Promise<void> {
    this.#closed = true;
    for (const { handle } of this.#timers.values()) clearTimeout(handle);
    this.#timers.clear();
    this.#ready.length = 0;
    this.#dirty.clear();
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #pump(): void {
    while (this.#work && this.#running < this.#width) {
      const key = this.#ready.shift();
      if (key === undefined) return;
      this.#dirty.delete(key);
      this.#processing.add(key);
      this.#running++;
      void this.#work(key).finally(() => this.#done(key));
    }
  }

  #done(key: string): void {
    this.#running--;
    this.#processing.delete(key);
    if (this.#dirty.has(key)) this.#ready.push(key);
    if (this.#running === 0) for (const resolve of this.#idle.splice(0)) resolve();
    this.#pump();
  }
}
