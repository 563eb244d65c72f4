import { type Logger } from '@gwk/core/process/log';
import type { Outage } from './observed.js';
import type { Projections } from './projections.js';

/**
 * Interval of `observe` calls for all instances. Leaves time for an answer about 10,000 instances and their reconciles
 * within one second.
 */
const OBSERVE_MS = 700;
/** Used while engines are starting, so that users see the first state early. */
const OBSERVE_STARTING_MS = 250;

/**
 * An engine that cannot renew its lease of 45 s (default) has closed its connection after 40 s. A shorter outage, like a
 * restart of the API, changes no status.
 */
export const OUTAGE_MS = 40_000;

interface ObserverOptions {
  projections: Projections;
  /** Time without an answer that counts as an outage. */
  outageMs: number;
  log: Logger;
  /** Keys whose engines are starting. */
  starting: ReadonlySet<string>;
  /** The API reported other facts of these keys. */
  changed: (keys: string[]) => void;
  /** An outage began: all that the API reported is out of date. */
  outageBegan: () => void;
  /** The API answers again. @param outage set if `outageBegan` was called */
  outageEnded: (outage: Outage | null) => void;
}

/** Asks the API for the facts of all instances, as long as the operator runs. */
export class Observer {
  readonly #options: ObserverOptions;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #startedAt: number | undefined;
  /** Monotonic time of the last full observation. */
  #observedAt = -Infinity;
  #failures = 0;
  #outage: Outage | null = null;

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  /** Time since the API last answered an observation, or since the start if it never did. 0 before the start. */
  get unresponsiveMs(): number {
    if (this.#startedAt === undefined) return 0;
    return Date.now() - Math.max(this.#options.projections.answeredAt, this.#startedAt);
  }

  get outage(): Outage | null {
    return this.#outage;
  }

  /** Starts the clock of `unresponsiveMs`. */
  startClock(): void {
    this.#startedAt = Date.now();
  }

  start(): void {
    void this.#observeForever();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #observeForever(): Promise<void> {
    if (this.#stopped) return;
    const began = performance.now();
    try {
      await this.#observe(began - this.#observedAt >= OBSERVE_MS);
    } catch (error) {
      if (this.#failures++ === 0) this.#logUnavailable(error);
      this.#declareOutage();
    }
    const normalMs = OBSERVE_MS * Math.min(5, 1 + this.#failures);
    const isStarting = this.#failures === 0 && this.#options.starting.size > 0;
    if (this.#stopped) return;
    const ms = isStarting ? OBSERVE_STARTING_MS : normalMs;
    this.#timer = setTimeout(() => void this.#observeForever(), ms);
  }

  /** Between two full observations, ask only for starting instances, since asking for all is expensive. */
  async #observe(all: boolean): Promise<void> {
    const { projections, starting, changed, outageEnded, log } = this.#options;
    const began = performance.now();
    changed(await projections.observe(all ? undefined : starting));
    if (!all) return;
    this.#observedAt = began;
    if (this.#failures === 0) return;
    this.#failures = 0;
    const outage = this.#outage;
    this.#outage = null;
    log.info('API available again');
    outageEnded(outage);
  }

  #declareOutage(): void {
    if (this.#outage !== null || this.unresponsiveMs < this.#options.outageMs) return;
    this.#outage = { since: Date.now() - this.unresponsiveMs };
    this.#options.outageBegan();
  }

  #logUnavailable(error: unknown): void {
    const { projections, log } = this.#options;
    if (projections.answeredAt === 0) log.info('waiting for the API');
    else log.warn({ err: error }, 'API unavailable; engines are left as they are');
  }
}
