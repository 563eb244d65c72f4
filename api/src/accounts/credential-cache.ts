import { ExpiringMap } from '@gwk/core/async/expiring-map';
import { Batcher } from '../platform/batcher.js';

const MAX_AGE_MS = 1_900;
const REFRESH_AFTER_MS = 1_000;
const LOOKUP_DEADLINE_MS = 4_000;
const MAX_ENTRIES = 10_000;

interface Entry<T> {
  found: T | null;
  askedAt: number;
}

/**
 * Looks up credentials. An entry is cached for less than 2 s from before the query, so that a revocation holds on every
 * replica within 2 s. A used entry is refreshed in the background before it expires. Lookups are batched, so a flood of
 * invalid credentials costs one statement per turn of the event loop.
 */
export class CredentialCache<T> {
  readonly #entries: ExpiringMap<Entry<T>>;
  readonly #asking = new Map<string, Promise<Entry<T>>>();
  readonly #lookups: Batcher<string, T | null>;
  readonly #now: () => number;

  /** @param findAll looks up any number of names with one statement; results in the same order */
  constructor(findAll: (names: readonly string[]) => Promise<(T | null)[]>, now: () => number) {
    this.#now = now;
    this.#entries = new ExpiringMap({ max: MAX_ENTRIES, ttlMs: MAX_AGE_MS }, now);
    this.#lookups = new Batcher({
      run: findAll,
      deadlineMs: LOOKUP_DEADLINE_MS,
      onTimeout: () => new Error('lookup of a credential timed out'),
    });
  }

  /** Returns what the name stands for, null if it is unknown; synchronously if it is cached. */
  find(name: string): T | null | Promise<T | null> {
    const entry = this.#entries.get(name);
    const age = entry ? this.#now() - entry.askedAt : Infinity;
    if (!entry || age >= MAX_AGE_MS) return this.#ask(name).then(({ found }) => found);
    // If the refresh fails, the next request tries again, until the entry expires.
    if (age >= REFRESH_AFTER_MS && !this.#asking.has(name)) this.#ask(name).catch(() => undefined);
    return entry.found;
  }

  /** Forgets all entries after a change in this process; other replicas see it within 2 s. */
  clear(): void {
    this.#entries.clear();
    this.#asking.clear();
  }

  #ask(name: string): Promise<Entry<T>> {
    let asking = this.#asking.get(name);
    if (!asking) {
      const askedAt = this.#now();
      const lookup = this.#lookups
        .submit(name)
        .then((found) => {
          const entry = { found, askedAt };
          // A lookup from before `clear` may have read what has changed since.
          if (this.#asking.get(name) === lookup) this.#entries.set(name, entry);
          return entry;
        })
        .finally(() => {
          if (this.#asking.get(name) === lookup) this.#asking.delete(name);
        });
      asking = lookup;
      this.#asking.set(name, asking);
    }
    return asking;
  }
}
