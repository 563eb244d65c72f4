const MAX_GAP_MS = 5_000;

/**
 * Measures for how long this worker has observed without interruption: an absence counts only while the observer was
 * healthy. A failed observation, or one more than 5 s after the previous one (a stalled process), restarts the measurement.
 */
export class Observer {
  readonly #now: () => number;
  #healthySince: number | null = null;
  #last = 0;

  /** @param now monotonic clock in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  healthyForMs(): number {
    return this.#healthySince === null ? 0 : this.#last - this.#healthySince;
  }

  async observe<T>(look: () => Promise<T>): Promise<T> {
    const start = this.#now();
    if (this.#healthySince === null || start - this.#last > MAX_GAP_MS) this.#healthySince = null;
    try {
      const seen = await look();
      const end = this.#now();
      if (end - start > MAX_GAP_MS) this.#healthySince = null;
      this.#healthySince ??= end;
      this.#last = end;
      return seen;
    } catch (error) {
      this.#healthySince = null;
      throw error;
    }
  }
}
