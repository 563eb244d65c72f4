import type { Cancel, Clock } from '@gwk/core/clock';

interface Timer {
  ms: number;
  at: number;
  repeats: boolean;
  run: () => void;
}

/** A clock that moves only when the test advances it. */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #now: number;

  /** @param start milliseconds. The default is not 0, because some code treats 0 as "no time". */
  constructor(start = 1_000_000) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): Cancel {
    return this.#add({ ms, at: this.#now + ms, repeats: false, run });
  }

  every(ms: number, run: () => void): Cancel {
    return this.#add({ ms, at: this.#now + ms, repeats: true, run });
  }

  /** Counts pending timers of this duration. Tests wait for one before they advance the clock. */
  count(ms: number): number {
    return [...this.#timers].filter((timer) => timer.ms === ms).length;
  }

  /** Advances the clock. Each due timer runs at its time, in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    while (this.skip(end - this.#now));
    this.#now = end;
  }

  /** Advances to the next timer and runs it, if it is due within `ms`. */
  skip(ms: number): boolean {
    const next = this.#next(this.#now + ms);
    if (!next) return false;
    this.#now = Math.max(this.#now, next.at);
    this.#run(next);
    return true;
  }

  /** Advances the clock of a stopped process: no timer runs. */
  advanceSilently(ms: number): void {
    this.#now += ms;
  }

  /** Advances the clock as a paused process sees it: each timer that came due runs once, late. */
  standStill(ms: number): void {
    this.#now += ms;
    for (const timer of [...this.#timers]) if (timer.at <= this.#now) this.#run(timer);
  }

  #add(timer: Timer): Cancel {
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  #next(until: number): Timer | undefined {
    const due = [...this.#timers].filter(({ at }) => at <= until);
    return due.sort((a, b) => a.at - b.at)[0];
  }

  #run(timer: Timer): void {
    if (timer.repeats) timer.at = this.#now + timer.ms;
    else this.#timers.delete(timer);
    timer.run();
  }
}
