interface Lanes {
  known: string[];
  fresh: string[];
}

/**
 * Keys that wait. Namespaces take turns, so that thousands of new instances of one tenant do not delay another. In a
 * namespace, known instances come before fresh ones: a restart or a deletion does not wait behind a burst.
 */
export class FairQueue {
  /** By namespace, in the order of their turns. A Map keeps the order of insertion. */
  readonly #turns = new Map<string, Lanes>();

  push(key: string, isFresh: boolean): void {
    const namespace = key.slice(0, key.indexOf('/') + 1);
    const lanes = this.#turns.get(namespace) ?? { known: [], fresh: [] };
    (isFresh ? lanes.fresh : lanes.known).push(key);
    this.#turns.set(namespace, lanes);
  }

  shift(): string | undefined {
    const [first] = this.#turns;
    if (!first) return undefined;
    const [namespace, lanes] = first;
    this.#turns.delete(namespace);
    const key = lanes.known.shift() ?? lanes.fresh.shift();
    if (lanes.known.length + lanes.fresh.length > 0) this.#turns.set(namespace, lanes);
    return key;
  }

  clear(): void {
    this.#turns.clear();
  }
}
