import { hash, randomBytes } from 'node:crypto';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import { Batcher } from '@gwk/core/batcher';
import { API_KEY_PREFIX, type Scope } from '@gwk/core/scopes';
import type { Queryable } from '../database/database.js';
import type { Caller } from './caller.js';

const MAX_AGE_MS = 1_900;
const REFRESH_AFTER_MS = 1_000;
const LOOKUP_DEADLINE_MS = 4_000;
const MAX_ENTRIES = 10_000;
const KEY_FORM = /^gwk_live_[A-Za-z0-9_-]{43}$/;

interface Entry {
  caller: Caller | null;
  askedAt: number;
}

interface KeyRow extends Omit<Caller, 'scopes' | 'instances'> {
  hash: Uint8Array;
  scopes: Scope[];
  restricted: boolean;
  instanceIds: string[];
}

/** Creates a key, which is shown once and stored as its hash. 256 random bits need neither salt nor a slow hash. */
export function newApiKey(): { key: string; hash: Buffer } {
  const key = API_KEY_PREFIX + randomBytes(32).toString('base64url');
  return { key, hash: Buffer.from(hashApiKey(key), 'hex') };
}

export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/**
 * Looks API keys up by their hash. An entry is cached for less than 2 s from before the query, so that a revocation or
 * suspension holds on every replica within 2 s. A used entry is refreshed in the background before it expires. Lookups are
 * batched, so a flood of invalid keys costs one statement per turn of the event loop.
 */
export class KeyDirectory {
  readonly #entries: ExpiringMap<Entry>;
  readonly #asking = new Map<string, Promise<Entry>>();
  readonly #lookups: Batcher<string, Caller | null>;
  readonly #now: () => number;

  constructor(database: Queryable, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#entries = new ExpiringMap({ max: MAX_ENTRIES, ttlMs: MAX_AGE_MS }, now);
    this.#lookups = new Batcher({
      run: (hashes) => findCallers(database, hashes),
      deadlineMs: LOOKUP_DEADLINE_MS,
      onTimeout: () => new Error('lookup of the API key timed out'),
    });
  }

  /** Returns the caller of a key, null for an unknown or revoked one; synchronously if it is cached. */
  find(key: string): Caller | null | Promise<Caller | null> {
    if (!KEY_FORM.test(key)) return null;
    const hashed = hashApiKey(key);
    const entry = this.#entries.get(hashed);
    const age = entry ? this.#now() - entry.askedAt : Infinity;
    if (!entry || age >= MAX_AGE_MS) return this.#ask(hashed).then(({ caller }) => caller);
    // If the refresh fails, the next request tries again, until the entry expires.
    if (age >= REFRESH_AFTER_MS && !this.#asking.has(hashed)) this.#ask(hashed).catch(() => undefined);
    return entry.caller;
  }

  #ask(hashed: string): Promise<Entry> {
    let asking = this.#asking.get(hashed);
    if (!asking) {
      const askedAt = this.#now();
      asking = this.#lookups
        .submit(hashed)
        .then((caller) => {
          const entry = { caller, askedAt };
          this.#entries.set(hashed, entry);
          return entry;
        })
        .finally(() => this.#asking.delete(hashed));
      this.#asking.set(hashed, asking);
    }
    return asking;
  }
}

/** Looks up any number of keys with one statement; results in the same order. */
async function findCallers(database: Queryable, hashes: readonly string[]): Promise<(Caller | null)[]> {
  const wanted = [...new Set(hashes)].map((text) => Buffer.from(text, 'hex'));
  const rows = await database.$queryRaw<KeyRow[]>`
    SELECT k.hash, k.id AS "keyId", k.account_id AS "accountId", a.name AS "accountName", k.scopes, k.restricted,
      ARRAY(SELECT i.instance_id::text FROM api_key_instances i WHERE i.api_key_id = k.id) AS "instanceIds",
      a.requests_per_minute AS "requestsPerMinute", a.suspended_at IS NOT NULL AS suspended
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
    WHERE k.hash = ANY (${wanted}::bytea[]) AND k.revoked_at IS NULL`;
  const byHash = new Map(rows.map((row) => [Buffer.from(row.hash).toString('hex'), callerOf(row)]));
  return hashes.map((hashed) => byHash.get(hashed) ?? null);
}

function callerOf({ hash: _, scopes, restricted, instanceIds, ...caller }: KeyRow): Caller {
  const instances = restricted || instanceIds.length > 0 ? new Set(instanceIds) : null;
  return { ...caller, scopes: new Set(scopes), instances };
}
