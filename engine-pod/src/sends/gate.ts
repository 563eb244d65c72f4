/**
 * Whether messages may be given to the network now: connected, lease valid, not stopping. Asked anew before every
 * act, because the lease ends by the clock and tells nobody.
 */
export class Gate {
  readonly #allowed: () => boolean;
  #waiting: (() => void)[] = [];
  #stopping = false;
  /** Not a promise: one that outlives every message would keep a reaction of each. */
  readonly #endCallbacks = new Set<() => void>();

  constructor(allowed: () => boolean) {
    this.#allowed = allowed;
  }

  get open(): boolean {
    return !this.#stopping && this.#allowed();
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Calls back when the engine no longer waits for what is under way. */
  onEnd(callback: () => void): void {
    this.#endCallbacks.add(callback);
  }

  offEnd(callback: () => void): void {
    this.#endCallbacks.delete(callback);
  }

  /** Resolves once open, or stopping. */
  async waitUntilOpen(): Promise<void> {
    while (!this.open && !this.#stopping) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** To be called when anything that `open` depends on has changed for the better. */
  recheck(): void {
    if (!this.open && !this.#stopping) return;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Nothing new is given to the network any more; what is under way may end. */
  stop(): void {
    this.#stopping = true;
    this.recheck();
  }

  /** What is under way is waited for no longer. */
  end(): void {
    this.stop();
    for (const callback of [...this.#endCallbacks]) callback();
  }
}
