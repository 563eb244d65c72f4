import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '@gwk/core/clock';

const SLICE_MS = 10;

/**
 * Runs work one after the other, in slices of about 10 ms. Between them the event loop handles other work. Without it,
 * a message to a group of 1,024 members would hold the loop for a second.
 */
export class TimeSlices {
  readonly #clock: Pick<Clock, 'now'>;
  #tail: Promise<unknown> = Promise.resolve();
  #began = 0;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(async () => {
      if (this.#clock.now() - this.#began >= SLICE_MS) await this.#begin();
      return work();
    });
    this.#tail = done.catch(() => undefined);
    return done;
  }

  async #begin(): Promise<void> {
    await nextTurn();
    this.#began = this.#clock.now();
  }
}
