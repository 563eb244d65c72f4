import type { ClientVersion, LoginKind } from './versions.js';

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

/** A login of a linked device or the registration of a new one, and its result. */
export interface LoginAttempt {
  seq: number;
  at: number;
  kind: LoginKind;
  /** Unknown for a new device until its phone has scanned the code. */
  number: string | null;
  /** The announced version, as `2.3000.1043857760`. */
  version: string;
  /** Reason of the failure; null: accepted. */
  refused: number | null;
}

export interface LoginFilter {
  number?: string;
  kind?: LoginKind;
  refused?: number | null;
  after?: number;
}

const MAX_KEPT = 50_000;

/** Logins since the last reset. Without a limit, a phone number may log in any number of times. */
export class Logins {
  readonly #times = new Map<string, number[]>();
  #limit?: LoginLimit;
  #replaced = 0;
  #banned = 0;

  readonly #attempts: LoginAttempt[] = [];
  #seq = 0;

  tried(attempt: Omit<LoginAttempt, 'seq' | 'at' | 'version'> & { version: ClientVersion }): void {
    const version = attempt.version.join('.');
    this.#attempts.push({ seq: ++this.#seq, at: Date.now(), ...attempt, version });
    if (this.#attempts.length > MAX_KEPT * 1.25) this.#attempts.splice(0, this.#attempts.length - MAX_KEPT);
  }

  /** Attempts in order of arrival. A reset of the counters keeps them. */
  attempts({ after, ...wanted }: LoginFilter = {}): LoginAttempt[] {
    const fields = Object.entries(wanted) as [keyof LoginAttempt, unknown][];
    return this.#attempts.filter(
      (one) =>
        (after === undefined || one.seq > after) && fields.every(([name, value]) => one[name] === value),
    );
  }

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
