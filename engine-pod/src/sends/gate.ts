/**
 * Decides whether messages may be sent now: connected, lease valid, not stopping. Check it before every action,
 * because a lease expires without an event. A pause only delays new attempts: frames that are already encrypted must
 * be written.
 */
export class Gate {
  readonly #allowed: () => boolean;
  readonly #isPaused: () => boolean;
  #waiting: (() => void)[] = [];
  #stopping = false;
  /** Not a promise: one that outlives every message would retain a reaction for each. */
  readonly #ended = new AbortController();

  constructor(allowed: () => boolean, isPaused: () => boolean) {
    this.#allowed = allowed;
    this.#isPaused = isPaused;
  }

  get open(): boolean {
    return !this.#stopping && this.#allowed();
  }

  /** Whether a new attempt may begin. */
  get mayBegin(): boolean {
    return this.open && !this.#isPaused();
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Aborted when the engine stops waiting for sends in progress. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Resolves once an attempt may begin, or stopping. */
  async waitUntilOpen(): Promise<void> {
    while (!this.mayBegin && !this.#stopping) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Call after any condition of `mayBegin` may have improved. */
  recheck(): void {
    if (!this.mayBegin && !this.#stopping) return;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Sends nothing new. Sends in progress may finish. */
  stop(): void {
    this.#stopping = true;
    this.recheck();
  }

  /** Stops waiting for sends in progress. */
  end(): void {
    this.stop();
    this.#ended.abort();
  }
}
