export interface InFlightEntry<T> {
  readonly item: T;
  /** REMOVED after `delete`. */
  position: number;
}

const REMOVED = -1;

/**
 * A set of the operations that a process has in flight. It has no order.
 *
 * An array, in which each entry knows its position. A `Set` or `Map` with changing entries is copied as it fills up,
 * and each old copy refers to the next one. Once a copy is in V8's old generation, it keeps all later entries in memory
 * until a full garbage collection.
 */
export class InFlightSet<T> {
  readonly #entries: InFlightEntry<T>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** A copy: deleting entries does not change it. */
  get items(): T[] {
    return this.#entries.map(({ item }) => item);
  }

  /** @returns the entry to pass to `delete` */
  add(item: T): InFlightEntry<T> {
    const entry = { item, position: this.#entries.length };
    this.#entries.push(entry);
    return entry;
  }

  /** Idempotent. */
  delete(entry: InFlightEntry<T>): void {
    const { position } = entry;
    if (position === REMOVED) return;
    entry.position = REMOVED;
    const last = this.#entries.pop()!;
    if (last === entry) return;
    this.#entries[position] = last;
    last.position = position;
  }
}
