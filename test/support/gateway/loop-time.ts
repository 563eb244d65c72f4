import { existsSync, readFileSync } from 'node:fs';
import { pause } from '../wait.js';

/** Longest processor time in milliseconds that one input may hold an event loop. */
export const MAX_HOLD_MS = 50;
/** A garbage collection, or code that Node compiles, lengthens few of the repetitions of an input. */
const TRIES = 5;
const MOST = 3;
/** The work of a request may follow its response, for example the delivery of its event. */
export const SETTLE_MS = 1_000;

/** Reads how long inputs hold the event loop of a program (loop-probe.ts). */
export class LoopTime {
  #read = 0;

  constructor(
    readonly program: string,
    readonly file: string,
  ) {
    this.longest();
  }

  /** Processor time of the longest turn since the previous call, in milliseconds. Short turns count as 0. */
  longest(): number {
    const turns = existsSync(this.file) ? readFileSync(this.file, 'utf8').trimEnd().split('\n') : [];
    const fresh = turns.slice(this.#read);
    this.#read = turns.length;
    return Math.max(0, ...fresh.map(Number));
  }

  /**
   * Repeats an input until most of five repetitions are known to be short or long.
   * @returns the median of their longest turns in milliseconds
   */
  async confirm(input: () => Promise<unknown>): Promise<number> {
    const turns: number[] = [];
    while (turns.length < TRIES && turns.filter((turn) => turn <= MAX_HOLD_MS).length < MOST) {
      await pause(SETTLE_MS);
      this.longest();
      await input();
      await pause(SETTLE_MS);
      turns.push(this.longest());
    }
    return turns.toSorted((a, b) => a - b)[MOST - 1]!;
  }
}
