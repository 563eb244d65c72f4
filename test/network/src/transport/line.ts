/** Faults of the line between a client and the network, the same in both directions. */
export interface LineFaults {
  latencyMs: number;
  /** Share of stanzas that never arrive, 0 to 1. */
  loss: number;
  /** Drops everything while the connection stays open. */
  frozen: boolean;
}

/** Calls `arrive` at this time of the clock. */
export interface LineClock {
  now(): number;
  at(moment: number, arrive: () => void): void;
}

const REAL: LineClock = {
  now: () => Date.now(),
  at: (moment, arrive) => void setTimeout(arrive, moment - Date.now()),
};

export const GOOD_LINE: LineFaults = { latencyMs: 0, loss: 0, frozen: false };

/** One direction of a connection. It delays and loses stanzas, and never reorders them. */
export class Line {
  #busyUntil = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    private readonly faults: () => LineFaults,
    private readonly random: () => number = Math.random,
    private readonly clock: LineClock = REAL,
  ) {}

  carry(arrive: () => void): void {
    const { latencyMs, loss, frozen } = this.faults();
    if (frozen || (loss > 0 && this.random() < loss)) return;
    if (latencyMs === 0 && this.#waiting.length === 0) return arrive();
    // A stanza sent after the latency dropped still waits for earlier ones.
    const at = Math.max(this.#busyUntil, this.clock.now() + latencyMs);
    this.#busyUntil = at;
    this.#waiting.push(arrive);
    // The later of two timers for the same millisecond may fire first. Whichever fires, the oldest stanza arrives.
    this.clock.at(at, () => {
      const first = this.#waiting.shift();
      if (!this.faults().frozen) first?.();
    });
  }
}
