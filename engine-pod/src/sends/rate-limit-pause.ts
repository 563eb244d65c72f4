import type { Clock } from '@gwk/core/clock';

const FIRST_MS = 5_000;
const MAX_MS = 60_000;

/**
 * Pauses all sends when the network limits their rate (429), because it limits the phone number and not a
 * conversation. The pause is 5 s. It doubles with each refusal after a pause, up to 60 s, until the network accepts a
 * message again.
 */
export class RateLimitPause {
  readonly #clock: Clock;
  readonly #ended: () => void;
  #nextMs = FIRST_MS;
  #isActive = false;

  /** @param ended called when a pause has ended */
  constructor(clock: Clock, ended: () => void) {
    this.#clock = clock;
    this.#ended = ended;
  }

  get isActive(): boolean {
    return this.#isActive;
  }

  /**
   * The network refused a message. Refusals during a pause answer messages that left before it.
   * @returns the length of the pause that begins; null during a pause
   */
  begin(): number | null {
    if (this.#isActive) return null;
    const ms = this.#nextMs;
    this.#isActive = true;
    this.#nextMs = Math.min(MAX_MS, 2 * ms);
    this.#clock.after(ms, () => {
      this.#isActive = false;
      this.#ended();
    });
    return ms;
  }

  /** The network accepted a message. */
  reset(): void {
    if (!this.#isActive) this.#nextMs = FIRST_MS;
  }
}
