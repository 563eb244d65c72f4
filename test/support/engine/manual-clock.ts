import type { Clock } from '@gwk/engine-pod/clock';

interface Timer {
  at: number;
  work: () => void;
}

/** Stands still until a test moves it. */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #now = 0;

  now(): number {
    return this.#now;
  }

  after(ms: number, work: () => void): () => void {
    const timer = { at: this.#now + ms, work };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    while (this.skip(end - this.#now));
    this.#now = end;
  }

  /** As for a process that is stopped: no timer rings. */
  advanceSilently(ms: number): void {
    this.#now += ms;
  }

  /** Moves to the next timer, if it is due within `ms`. */
  skip(ms: number): boolean {
    const [next] = [...this.#timers].sort((one, other) => one.at - other.at);
    if (!next || next.at > this.#now + ms) return false;
    this.#now = Math.max(this.#now, next.at);
    this.#timers.delete(next);
    next.work();
    return true;
  }
}
