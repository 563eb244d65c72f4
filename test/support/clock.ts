import type { Cancel, Clock } from '@gwk/core/clock';

interface Timer {
  ms: number;
  at: number;
  repeats: boolean;
  run: () => void;
}

/** A clock that stands still until the test moves it. */
export class ManualClock implements Clock {
  /** Not 0, which stands for no time at all in some places. */
  #now = 1_000_000;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): Cancel {
    return this.#add({ ms, at: this.#now + ms, repeats: false, run });
  }

  every(ms: number, run: () => void): Cancel {
    return this.#add({ ms, at: this.#now + ms, repeats: true, run });
  }

  /** Timers of this duration that are set: a test waits for one before it moves the clock. */
  count(ms: number): number {
    return [...this.#timers].filter((timer) => timer.ms === ms).length;
  }

  /** Moves the clock. Each timer that comes due runs at its time, in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#now = next.at;
      this.#run(next);
    }
    this.#now = end;
  }

  /** Moves the clock as a process sees it that stood still: each timer that came due meanwhile runs once, late. */
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
