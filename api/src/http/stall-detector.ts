import type { Cancel, Clock } from '@gwk/core/clock';

const TICK_MS = 250;
/** Longer than the delay of a timer in a busy process. */
const STILL_MS = 1_000;

/**
 * Detects that this process has just been paused: it or its machine was stopped, or it had no processor time. After a pause,
 * timers fire before the process reads the data that arrived meanwhile, so time limits must not act until it has read them.
 */
export class StallDetector {
  readonly #stopTicking: Cancel;
  #tickedAt: number;
  #endedAt = -Infinity;

  constructor(readonly clock: Clock) {
    this.#tickedAt = clock.now();
    this.#stopTicking = clock.every(TICK_MS, () => this.#tick());
  }

  /** True during a stall and for 1 s after it, while the process reads the data that arrived meanwhile. */
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
