import { ExpiringMap } from '@gwk/core/async/expiring-map';

interface Options {
  /** Seconds; 0: no expiry. */
  stdTTL?: number;
}

type Key = string | number;

/** The entries can be fetched again elsewhere, and strangers choose how many come. */
const MAX_KEYS = 10_000;

/** The part of @cacheable/node-cache that Baileys uses. Values are returned without a copy. */
export default class NodeCache<T = unknown> {
  readonly #entries: ExpiringMap<T>;

  constructor({ stdTTL = 0 }: Options = {}) {
    this.#entries = new ExpiringMap({ max: MAX_KEYS, ttlMs: stdTTL > 0 ? stdTTL * 1_000 : Infinity });
  }

  get(key: Key): T | undefined {
    return this.#entries.get(String(key));
  }

  has(key: Key): boolean {
    return this.get(key) !== undefined;
  }

  /**
   * Baileys asks twice for the own devices of a note to oneself, and encrypts for each device that it reads. The second
   * read of such a key is an empty list.
   */
  mget(keys: Key[]): Record<string, T> {
    const found = keys.map((key) => [String(key), this.get(key)] as const);
    const values = Object.fromEntries(found.filter(([, value]) => value !== undefined)) as Record<string, T>;
    for (const key of keys.filter((one, index) => keys.indexOf(one) < index && values[one] !== undefined)) {
      const reads = [values[key], []];
      Object.defineProperty(values, key, { get: () => reads.shift() ?? [] });
    }
    return values;
  }

  set(key: Key, value: T): boolean {
    this.#entries.set(String(key), value);
    return true;
  }

  mset(entries: { key: Key; value: T }[]): boolean {
    for (const { key, value } of entries) this.set(key, value);
    return true;
  }

  del(keys: Key | Key[]): number {
    return [keys].flat().filter((key) => this.#entries.delete(String(key))).length;
  }

  flushAll(): void {
    this.#entries.clear();
  }

  close(): void {
    this.flushAll();
  }
}
