/** What is wrong with the line between a client and the network, the same in both directions. */
export interface LineFaults {
  latencyMs: number;
  /** The share of stanzas that never arrive, 0 to 1. */
  loss: number;
  /** Swallows everything while the connection stays open: a half-dead one. */
  frozen: boolean;
}

/** Calls `arrive` at this moment of the clock. */
export interface LineClock {
  now(): number;
  at(moment: number, arrive: () => void): void;
}

const REAL: LineClock = {
  now: () => Date.now(),
  at: (moment, arrive) => void setTimeout(arrive, moment - Date.now()),
};

export const GOOD_LINE: LineFaults = { latencyMs: 0, loss: 0, frozen: false };

/** One direction of a connection. It delays and loses, and never reorders. */
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
    // A stanza sent after the latency was lowered still waits for those before it.
    const at = Math.max(this.#busyUntil, this.clock.now() + latencyMs);
    this.#busyUntil = at;
    this.#waiting.push(arrive);
    // Of two timers for the same millisecond the later may ring first: whichever rings, the first to come arrives.
    this.clock.at(at, () => {
      const first = this.#waiting.shift();
      if (!this.faults().frozen) first?.();
    });
  }
}
