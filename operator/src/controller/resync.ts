/**
 * Everything is looked at once in a round, whether or not anything was heard of it, and evenly: a change never waits
 * behind ten thousand that nothing happened to, and rest is as calm at one moment as at another.
 */
export class ResyncSchedule {
  readonly #everyMs: number;
  readonly #keys: () => string[];
  #waiting: string[] = [];
  #endsAt = -Infinity;

  /** @param keys asked when a round begins */
  constructor(everyMs: number, keys: () => string[]) {
    this.#everyMs = everyMs;
    this.#keys = keys;
  }

  /** How often `due` is to be called. */
  get stepMs(): number {
    return Math.min(STEP_MS, this.#everyMs);
  }

  /** Keys whose turn has come. Those of a round that is over come at once. */
  due(now: number): string[] {
    if (now >= this.#endsAt) {
      const late = this.#waiting;
      this.#waiting = this.#keys();
      this.#endsAt = now + this.#everyMs;
      return late;
    }
    const steps = Math.max(1, Math.floor((this.#endsAt - now) / this.stepMs));
    return this.#waiting.splice(-Math.ceil(this.#waiting.length / steps));
  }
}

const STEP_MS = 1000;
