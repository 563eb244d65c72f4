/**
 * The turns of an upgrade: so many engines that worked are away from their numbers at a time.
 *
 *   (waiting) ──ask──> moving ──its new engine works──> (settled)
 *
 * A key is `moving` while its instance wants an engine of the present revision and that engine does not work yet,
 * however it came to that: also one that starts for the first time, or whose engine was crashed by the new version.
 * So what is known is found again from what is seen after a change of leader, and nothing is given before every
 * instance was looked at once.
 *
 * The trap: an engine that never comes to work keeps its turn. That is meant. A version that does not work takes
 * `width` numbers off the air and no more, and the upgrade stands still until somebody mends it; the metric
 * gwk_operator_rollout counts who moves and who waits.
 */
export class Rollout {
  readonly #width: number;
  readonly #moving = new Map<string, { mustConnect: boolean }>();
  readonly #waiting = new Set<string>();
  #open = false;

  constructor(width: number) {
    this.#width = width;
  }

  get moving(): number {
    return this.#moving.size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Everything was looked at once. @returns keys that may ask again */
  open(): string[] {
    this.#open = true;
    return this.#next();
  }

  /** Whether an engine that works may be replaced now. `connected`: its turn ends when it is connected again. */
  ask(key: string, connected: boolean): boolean {
    if (this.#moving.has(key)) return true;
    if (!this.#open || this.#moving.size >= this.#width) {
      this.#waiting.add(key);
      return false;
    }
    this.#waiting.delete(key);
    this.#moving.set(key, { mustConnect: connected });
    return true;
  }

  /** What a pass has seen. @returns keys that may ask again */
  saw(key: string, seen: 'moving' | 'works' | 'connected' | 'settled'): string[] {
    if (seen !== 'works') this.#waiting.delete(key);
    const before = this.#moving.get(key);
    if (seen === 'moving') {
      if (!before) this.#moving.set(key, { mustConnect: false });
      return [];
    }
    if (!before || (seen === 'works' && before.mustConnect)) return [];
    this.#moving.delete(key);
    return this.#next();
  }

  #next(): string[] {
    if (!this.#open) return [];
    return [...this.#waiting].slice(0, Math.max(0, this.#width - this.#moving.size));
  }
}
