import { Problem } from '@gwk/core/problems';

/**
 * Lets a few in at a time. What calls the cluster inside a transaction holds a connection to Postgres meanwhile: a
 * cluster that does not answer must not take the connections that messages need.
 */
export class Turnstile {
  readonly #places: number;
  readonly #patienceMs: number;
  #inside = 0;
  readonly #waiting = new Set<() => void>();

  constructor(places: number, patienceMs: number) {
    this.#places = places;
    this.#patienceMs = patienceMs;
  }

  /** @throws Problem `engine-unavailable` where no place is free in time */
  async pass<T>(work: () => Promise<T>): Promise<T> {
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
        reject(new Problem('engine-unavailable', { retryAfter: 2 }));
      }, this.#patienceMs);
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
