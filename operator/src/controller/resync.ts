/**
 * Spreads the periodic reconcile of all keys evenly over a period, so that a change never waits behind thousands of
 * keys.
 */
export class ResyncSchedule {
  readonly #everyMs: number;
  readonly #keys: () => string[];
  #waiting: string[] = [];
  #endsAt = -Infinity;

  /** @param keys called at the start of each period */
  constructor(everyMs: number, keys: () => string[]) {
    this.#everyMs = everyMs;
    this.#keys = keys;
  }

  /** Interval at which to call `due`. */
  get stepMs(): number {
    return Math.min(STEP_MS, this.#everyMs);
  }

  /** Keys due now. At the end of a period all remaining keys are due. */
  due(now: number): string[] {
    if (now >= this.#endsAt) {
      const remaining = this.#waiting;
      this.#waiting = this.#keys();
      this.#endsAt = now + this.#everyMs;
      return remaining;
    }
    const steps = Math.max(1, Math.floor((this.#endsAt - now) / this.stepMs));
    return this.#waiting.splice(-Math.ceil(this.#waiting.length / steps));
  }
}

const STEP_MS = 1000;
