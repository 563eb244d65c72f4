/**
 * A map of what was used lately, in two generations: what is used moves to the younger, and when that has `certain` the
 * elder is forgotten. So whatever was used among the last `certain` keys is there, and up to twice as many are held.
 */
export class Recent<T> {
  readonly #certain: number;
  #young = new Map<string, T>();
  #old = new Map<string, T>();

  constructor(certain: number) {
    this.#certain = certain;
  }

  get(key: string): T | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: T): void {
    if (this.#young.size >= this.#certain && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
