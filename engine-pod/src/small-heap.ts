import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Makes V8 keep this process small rather than fast. On a machine with much memory it lets garbage pile up for 100 MB
 * before it looks: 2,000 messages took an engine from 72 to 190 MB of which 13 were alive. With these two an engine
 * stays below 95, at a cost in processor time that one number never notices. Both flags are read whenever the heap
 * grows, so they may be set in a running process.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--expose-gc');
}

/** So long nothing has happened: a number is at rest most of the day. */
const IDLE_MS = 10_000;

type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/**
 * V8 collects garbage when it wants room for more, so an engine that has nothing to do keeps what its start, or its
 * last messages, have left behind. Once it is at rest everything that can be had back is given back: some 40 ms of work.
 */
export class IdleCollector {
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setTimeout(() => collectGarbage(), IDLE_MS).unref();
  }

  /** Something happens. */
  recordActivity(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

function collectGarbage(): void {
  const collect = runInNewContext('globalThis.gc') as Collect | undefined;
  // Twice: code that has not been used since the first time is let go by the second.
  for (let time = 0; time < 2; time++) collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
