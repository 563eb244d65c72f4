/** Holds the timers of a library that takes no clock. Those of one duration fire when a test says so. */
export class HeldTimers {
  readonly #plain = globalThis.setTimeout;
  #held: (() => void)[] = [];

  /** Holds timers from now on, until they are restored. */
  constructor(ms: number) {
    const hold = (work: () => void, after?: number, ...given: []): NodeJS.Timeout => {
      if (after !== ms) return this.#plain(work, after, ...given);
      const timer = this.#plain(() => undefined);
      this.#held.push(work);
      return timer;
    };
    globalThis.setTimeout = Object.assign(hold, { __promisify__: this.#plain.__promisify__ });
  }

  get held(): number {
    return this.#held.length;
  }

  /** Fires the held timers. */
  end(): void {
    for (const work of this.#held.splice(0)) work();
  }

  restore(): void {
    globalThis.setTimeout = this.#plain;
  }
}
