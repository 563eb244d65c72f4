interface Waiting {
  known: string[];
  fresh: string[];
}

/**
 * Keys that wait. Namespaces take turns, so that thousands of new instances of one tenant do not delay another. In a
 * namespace, known instances come before fresh ones: a restart or a deletion does not wait behind a burst.
 */
export class FairQueue {
  /** By namespace, in the order of their turns. A Map keeps the order of insertion. */
  readonly #turns = new Map<string, Waiting>();

  push(key: string, isFresh: boolean): void {
    const namespace = key.slice(0, key.indexOf('/') + 1);
    const waiting = this.#turns.get(namespace) ?? { known: [], fresh: [] };
    (isFresh ? waiting.fresh : waiting.known).push(key);
    this.#turns.set(namespace, waiting);
  }

  shift(): string | undefined {
    const [first] = this.#turns;
    if (!first) return undefined;
    const [namespace, waiting] = first;
    this.#turns.delete(namespace);
    const key = waiting.known.shift() ?? waiting.fresh.shift();
    if (waiting.known.length + waiting.fresh.length > 0) this.#turns.set(namespace, waiting);
    return key;
  }

  clear(): void {
    this.#turns.clear();
  }
}
