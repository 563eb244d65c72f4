import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Makes V8 prefer a small heap to speed. With much memory V8 lets garbage grow by 100 MB before it collects: 2,000
 * messages took an engine from 72 to 190 MB, of which 13 MB were live. With this and a limit of the young generation
 * (core/src/engine-environment.ts) an engine stays below 100 MB, at negligible CPU cost for one instance. V8 reads
 * `--optimize-for-size` whenever the heap grows, so it can be set in a running process.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString('--expose-gc');
}

/** Idle time before garbage is collected, and before code is released after messages. An instance is idle most of the day. */
const GARBAGE_AFTER_MS = 10_000;
const CODE_AFTER_MS = 60_000;

/** `last-resort` also releases code that was not used lately. */
type Flavor = 'regular' | 'last-resort';
type Collect = (how: { type: 'major'; execution: 'sync'; flavor: Flavor }) => void;

/**
 * Collects garbage once the engine is idle, in about 40 ms. V8 only collects when it needs memory, so an idle
 * engine would keep the garbage of its start or its last messages.
 *
 * The code of the start is 3.5 MB. That of messages is 1 to 2 MB, and stays through short pauses: without it, the next
 * messages take about a tenth more CPU time.
 */
export class IdleCollector {
  readonly #collect: (flavor: Flavor) => void;
  readonly #garbage: NodeJS.Timeout;
  readonly #code: NodeJS.Timeout;
  #hadMessages = false;

  constructor(collect: (flavor: Flavor) => void = collectGarbage) {
    this.#collect = collect;
    this.#garbage = setTimeout(
      () => this.#collect(this.#hadMessages ? 'regular' : 'last-resort'),
      GARBAGE_AFTER_MS,
    ).unref();
    this.#code = setTimeout(() => this.#releaseCode(), CODE_AFTER_MS).unref();
  }

  /** Postpones the collections. */
  recordActivity(): void {
    this.#garbage.refresh();
    this.#code.refresh();
  }

  /** Postpones the collections for a message that was sent or received. */
  recordMessage(): void {
    this.#hadMessages = true;
    this.recordActivity();
  }

  stop(): void {
    clearTimeout(this.#garbage);
    clearTimeout(this.#code);
  }

  #releaseCode(): void {
    if (this.#hadMessages) this.#collect('last-resort');
    this.#hadMessages = false;
  }
}

function collectGarbage(flavor: Flavor): void {
  const collect = runInNewContext('globalThis.gc') as Collect | undefined;
  collect?.({ type: 'major', execution: 'sync', flavor });
}
