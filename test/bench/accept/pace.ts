/**
 * Schedules requests. Without a rate, each connection sends as soon as it is free. With a rate, requests are due at
 * even intervals, whether or not a connection is free. Latency counts from the due time, so requests queued behind a
 * slow response count as slow.
 */
export class Pace {
  readonly #perSecond: number | undefined;
  readonly #began: number;
  #issued = 0;
  /** Due times of requests without a free connection. */
  readonly #overdue: number[] = [];
  readonly #free: ((dueAt: number) => void)[] = [];

  constructor(perSecond: number | undefined, began: number) {
    this.#perSecond = perSecond;
    this.#began = began;
  }

  /** A connection is free: calls `send` once, now or later. */
  free(now: number, send: (dueAt: number) => void): void {
    if (this.#perSecond === undefined) return send(now);
    const overdue = this.#overdue.shift();
    if (overdue === undefined) this.#free.push(send);
    else send(overdue);
  }

  /** Sends all due requests. */
  tick(now: number): void {
    if (this.#perSecond === undefined) return;
    const interval = 1000 / this.#perSecond;
    for (let at = this.#began + this.#issued * interval; at <= now; at += interval) {
      this.#issued++;
      const send = this.#free.shift();
      if (send) send(at);
      else this.#overdue.push(at);
    }
  }
}
