import { backoffDelay } from '@gwk/core/async/backoff';

const PAUSE = { firstMs: 1_000, maxMs: 30_000, jitter: 0 };

/**
 * For how long an engine claims no followers after it had to return some, so that slow messages do not make it claim and
 * return the later ones again and again. The pause doubles up to half a minute, and is short again after half a minute
 * without one: a start of the engine or one slow moment costs little.
 */
export class FollowerPause {
  #until = -Infinity;
  #count = 0;

  isOver(now: number): boolean {
    return now >= this.#until;
  }

  /** Nothing begins during a pause: messages that were claimed before it may still be late. */
  begin(now: number): void {
    if (!this.isOver(now)) return;
    if (now - this.#until >= PAUSE.maxMs) this.#count = 0;
    this.#until = now + backoffDelay(PAUSE, ++this.#count);
  }
}
