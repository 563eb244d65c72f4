/** How often a number may log in within so many seconds, and for how many minutes it is banned otherwise. */
export interface LoginLimit {
  times: number;
  seconds: number;
  minutes: number;
}

export interface LoginCounts {
  /** Of the number that has logged in most often. */
  most: number;
  /** Connections that were open when another one with the same credentials took their place. */
  replaced: number;
  /** Numbers that were banned for logging in too often. */
  banned: number;
}

/** Logins since they were last counted anew. Without a limit a number may log in as often as it likes. */
export class Logins {
  readonly #times = new Map<string, number[]>();
  #limit?: LoginLimit;
  #replaced = 0;
  #banned = 0;

  countAnew(limit?: LoginLimit): void {
    this.#times.clear();
    this.#limit = limit;
    this.#replaced = 0;
    this.#banned = 0;
  }

  /** @returns for how many minutes the number is banned, where this is one login too many */
  add(number: string, now = Date.now()): number | undefined {
    const times = this.#times.get(number) ?? [];
    this.#times.set(number, times);
    times.push(now);
    if (!this.#limit) return undefined;
    const from = now - this.#limit.seconds * 1000;
    if (times.filter((time) => time > from).length <= this.#limit.times) return undefined;
    this.#banned += 1;
    return this.#limit.minutes;
  }

  replaced(): void {
    this.#replaced += 1;
  }

  counts(): LoginCounts {
    const most = Math.max(0, ...[...this.#times.values()].map(({ length }) => length));
    return { most, replaced: this.#replaced, banned: this.#banned };
  }
}
