/** Number of logins allowed within a period, and the ban in minutes for more. */
export interface LoginLimit {
  times: number;
  seconds: number;
  minutes: number;
}

export interface LoginCounts {
  /** Logins of the phone number that has logged in most often. */
  most: number;
  /** Open connections that a login with the same credentials replaced. */
  replaced: number;
  /** Phone numbers banned for too many logins. */
  banned: number;
}

/** Logins since the last reset. Without a limit, a phone number may log in any number of times. */
export class Logins {
  readonly #times = new Map<string, number[]>();
  #limit?: LoginLimit;
  #replaced = 0;
  #banned = 0;

  resetCounts(limit?: LoginLimit): void {
    this.#times.clear();
    this.#limit = limit;
    this.#replaced = 0;
    this.#banned = 0;
  }

  /** @returns the minutes of the ban, if this login exceeds the limit */
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
