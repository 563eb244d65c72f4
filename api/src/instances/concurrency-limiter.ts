import { Problem } from '@gwk/core/problems';

declare module '../http/services.js' {
  interface Services {
    /** Limits transactions that call the cluster. */
    clusterCalls: ConcurrencyLimiter;
  }
}

/**
 * Lets a few in at a time. What calls the cluster inside a transaction holds a connection to Postgres meanwhile: a
 * cluster that does not answer must not take the connections that messages need.
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
   * What is not done in time goes on alone, in its place; whoever asked hears it in time.
   * @throws Problem `engine-unavailable`
   */
  pass<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(unavailable()), this.#deadlineMs);
      this.#enter(work)
        .then(resolve, reject)
        .finally(() => clearTimeout(late));
    });
  }

  async #enter<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside >= this.#places) await this.#turn();
    else this.#inside++;
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #turn(): Promise<void> {
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

  /** A place is handed on to whoever has waited longest. */
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
