import type { Cancel, Clock } from '@gwk/core/clock';

/**
 * Whether this process has just stood still (it or its machine was stopped, or had no processor for that long). Timers
 * fire first when it goes on, before anything is read that came meanwhile: until then nobody may be told that they
 * took too long.
 */
const TICK_MS = 250;
/** A busy process ticks late by less. */
const STILL_MS = 1_000;

export class Standstill {
  readonly #stopTicking: Cancel;
  #tickedAt: number;
  #endedAt = -Infinity;

  constructor(readonly clock: Clock) {
    this.#tickedAt = clock.now();
    this.#stopTicking = clock.every(TICK_MS, () => this.#tick());
  }

  /** Also within the first moments after, while what came meanwhile is being read. */
  get isRecent(): boolean {
    const now = this.clock.now();
    return now - this.#tickedAt > STILL_MS || now - this.#endedAt < STILL_MS;
  }

  stop(): void {
    this.#stopTicking();
  }

  #tick(): void {
    const now = this.clock.now();
    if (now - this.#tickedAt > STILL_MS) this.#endedAt = now;
    this.#tickedAt = now;
  }
}
