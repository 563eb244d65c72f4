interface Options {
  /** Seconds; 0: no expiry. */
  stdTTL?: number;
}

type Key = string | number;

interface Entry<T> {
  value: T;
  until: number;
}

/** The entries can be fetched again elsewhere, and strangers choose how many come. */
const MAX_KEYS = 10_000;

/**
 * The part of @cacheable/node-cache that Baileys uses. Values are returned without a copy, and expired ones are
 * removed lazily.
 */
export default class NodeCache<T = unknown> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #ttlSeconds: number;

  constructor({ stdTTL = 0 }: Options = {}) {
    this.#ttlSeconds = stdTTL;
  }

  get(key: Key): T | undefined {
    const entry = this.#entries.get(String(key));
    return entry && entry.until > performance.now() ? entry.value : undefined;
  }

  has(key: Key): boolean {
    return this.get(key) !== undefined;
  }

  mget(keys: Key[]): Record<string, T> {
    const found = keys.map((key) => [String(key), this.get(key)] as const);
    return Object.fromEntries(found.filter(([, value]) => value !== undefined)) as Record<string, T>;
  }

  set(key: Key, value: T, ttlSeconds = this.#ttlSeconds): boolean {
    const now = performance.now();
    // Entries expire in insertion order, so no timer is needed.
    for (const [oldest, { until }] of this.#entries) {
      if (until > now && this.#entries.size < MAX_KEYS) break;
      this.#entries.delete(oldest);
    }
    this.#entries.delete(String(key));
    this.#entries.set(String(key), { value, until: ttlSeconds > 0 ? now + ttlSeconds * 1_000 : Infinity });
    return true;
  }

  mset(entries: { key: Key; value: T; ttl?: number }[]): boolean {
    for (const { key, value, ttl } of entries) this.set(key, value, ttl);
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
