/**
 * A token bucket for sends. It holds one minute's worth of messages, fills evenly and starts full. A new rate
 * applies at once. Times are milliseconds of a monotonic clock.
 */
export class Pacing {
  #perMinute: number;
  #tokens: number;
  #at: number;

  constructor(perMinute: number, now: number) {
    this.#perMinute = perMinute;
    this.#tokens = perMinute;
    this.#at = now;
  }

  /** Whole messages that may leave now. */
  available(now: number): number {
    this.#fill(now);
    return Math.floor(this.#tokens);
  }

  take(count: number, now: number): void {
    this.#fill(now);
    this.#tokens -= count;
  }

  /** Returns tokens that were taken but not used. */
  giveBack(count: number): void {
    this.#tokens = Math.min(this.#perMinute, this.#tokens + count);
  }

  setRate(perMinute: number, now: number): void {
    this.#fill(now);
    this.#perMinute = perMinute;
    this.#tokens = Math.min(this.#tokens, perMinute);
  }

  /** Milliseconds until one message may leave; 0 when one may leave now. */
  delay(now: number): number {
    this.#fill(now);
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) * 60_000) / this.#perMinute);
  }

  #fill(now: number): void {
    const elapsed = Math.max(0, now - this.#at);
    this.#at = Math.max(this.#at, now);
    this.#tokens = Math.min(this.#perMinute, this.#tokens + (elapsed * this.#perMinute) / 60_000);
  }
}
