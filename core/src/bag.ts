/**
 * Things that come and go, in no order: what is under way in a process.
 *
 * An array, each thing at a place that its entry knows. A `Set` or `Map` whose entries come and go is copied as it fills
 * up, and each former copy holds the next: once one has grown old, everything that came after it stays in memory, with
 * all that it refers to, until the whole heap is searched for garbage.
 */
export interface BagEntry<T> {
  readonly item: T;
  /** NOWHERE once it has been taken out. */
  place: number;
}

const NOWHERE = -1;

export class Bag<T> {
  readonly #entries: BagEntry<T>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** As they are now; taking some out meanwhile changes nothing of it. */
  get items(): T[] {
    return this.#entries.map(({ item }) => item);
  }

  /** @returns what `delete` takes it out by */
  add(item: T): BagEntry<T> {
    const entry = { item, place: this.#entries.length };
    this.#entries.push(entry);
    return entry;
  }

  /** Taking out twice is taking out once. */
  delete(entry: BagEntry<T>): void {
    const { place } = entry;
    if (place === NOWHERE) return;
    entry.place = NOWHERE;
    const last = this.#entries.pop()!;
    if (last === entry) return;
    this.#entries[place] = last;
    last.place = place;
  }
}
