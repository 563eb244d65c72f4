import { Problem } from '@gwk/core/problems';

declare module '../http/services.js' {
  interface Services {
    /** Limits transactions that call the cluster. */
    clusterCalls: ConcurrencyLimiter;
  }
}

/**
 * Limits concurrent work. A transaction that calls the cluster holds a Postgres connection meanwhile, so an unresponsive cluster
 * must not take the connections that messages need.
 */
export class ConcurrencyLimiter {
  readonly #places: number;
  readonly #deadlineMs: number;
  #inside = 0;
  readonly #waiting = new Set<() => void>();

  constructor(places: number, deadlineMs: number) {
    this.#places = places;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Runs the work when a place is free. Work that exceeds the deadline continues and keeps its place, and the caller gets an error.
   * @throws Problem `engine-unavailable`
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(unavailable()), this.#deadlineMs);
      this.#enter(work)
        .then(resolve, reject)
        .finally(() => clearTimeout(late));
    });
  }

  async #enter<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside >= this.#places) await this.#wait();
    else this.#inside++;
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(enter);
        reject(unavailable());
      }, this.#deadlineMs);
      this.#waiting.add(enter);
    });
  }

  /** Gives the place to the longest waiting caller. */
  #leave(): void {
    const next = this.#waiting.values().next();
    if (next.done) {
      this.#inside--;
      return;
    }
    this.#waiting.delete(next.value);
    next.value();
  }
}

const unavailable = (): Problem => new Problem('engine-unavailable', { retryAfter: 2 });
