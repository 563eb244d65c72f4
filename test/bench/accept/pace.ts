/**
 * When requests are sent. Without a rate each connection sends as soon as it is free. With one, requests come due at
 * even intervals whether or not a connection is free, and count as sent when they came due: what waits for a slow
 * answer before it is slow itself.
 */
export class Pace {
  readonly #perSecond: number | undefined;
  readonly #began: number;
  #issued = 0;
  /** When each came due that no connection was free for. */
  readonly #overdue: number[] = [];
  readonly #free: ((dueAt: number) => void)[] = [];

  constructor(perSecond: number | undefined, began: number) {
    this.#perSecond = perSecond;
    this.#began = began;
  }

  /** A connection is free: `send` is called once, now or later. */
  free(now: number, send: (dueAt: number) => void): void {
    if (this.#perSecond === undefined) return send(now);
    const overdue = this.#overdue.shift();
    if (overdue === undefined) this.#free.push(send);
    else send(overdue);
  }

  /** Sends what has come due. */
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
