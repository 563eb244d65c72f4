interface Move {
  given: boolean;
  mustConnect: boolean;
  since: number;
}

const PATIENCE_MS = 300_000;

/**
 * The turns of an upgrade: so many engines that worked are away from their numbers at a time.
 *
 *   (waiting) ──ask──> moving ──its new engine works──> (settled)
 *
 * A key is `moving` while its instance wants an engine and that engine does not work yet, however it came to that:
 * also one that starts for the first time, or whose engine was crashed by the new version. So what is known is found
 * again from what is seen after a change of leader, and nothing is given before every instance was looked at once.
 *
 * The trap: a version that does not work keeps the turns it was given. That is meant: it takes `width` numbers off
 * the air and no more, and the upgrade stands still until somebody mends it (metric gwk_operator_rollout). But a
 * number that was broken all the same must not keep all others from their upgrade, so who moves without having been
 * given a turn counts for `patienceMs` only.
 */
export class Rollout {
  readonly #width: number;
  readonly #patienceMs: number;
  readonly #now: () => number;
  readonly #moving = new Map<string, Move>();
  readonly #waiting = new Set<string>();
  #open = false;

  constructor(width: number, patienceMs = PATIENCE_MS, now: () => number = Date.now) {
    this.#width = width;
    this.#patienceMs = patienceMs;
    this.#now = now;
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
    if (this.#moving.get(key)?.given) return true;
    if (!this.#open || this.#free() <= 0) {
      this.#waiting.add(key);
      return false;
    }
    this.#waiting.delete(key);
    this.#moving.set(key, { given: true, mustConnect: connected, since: this.#now() });
    return true;
  }

  /** What a pass has seen. @returns keys that may ask again */
  saw(key: string, seen: 'moving' | 'works' | 'connected' | 'settled'): string[] {
    const before = this.#moving.get(key);
    if (seen === 'moving') {
      this.#waiting.delete(key);
      if (!before) this.#moving.set(key, { given: false, mustConnect: false, since: this.#now() });
      return [];
    }
    if (seen === 'settled') this.#waiting.delete(key);
    if (!before || (seen === 'works' && before.mustConnect)) return [];
    this.#moving.delete(key);
    return this.#next();
  }

  #free(): number {
    const since = this.#now() - this.#patienceMs;
    const counted = [...this.#moving.values()].filter((move) => move.given || move.since > since);
    return this.#width - counted.length;
  }

  #next(): string[] {
    if (!this.#open) return [];
    return [...this.#waiting].slice(0, Math.max(0, this.#free()));
  }
}
