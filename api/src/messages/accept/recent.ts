/**
 * A map of what was used lately. It holds two generations of half of `max` each: what is used moves to the younger, and
 * when that is full the elder is forgotten. So nothing that is in use is lost, and it costs no order to be kept.
 */
export class Recent<T> {
  readonly #half: number;
  #young = new Map<string, T>();
  #old = new Map<string, T>();

  constructor(max: number) {
    this.#half = max / 2;
  }

  get(key: string): T | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: T): void {
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
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
