import { hash, randomBytes } from 'node:crypto';
import { API_KEY_PREFIX, type Scope } from '@gwk/core/scopes';
import type { Queryable } from '../database/database.js';
import type { Caller } from './caller.js';
import { CredentialCache } from './credential-cache.js';

const KEY_FORM = /^gwk_live_[A-Za-z0-9_-]{43}$/;

interface KeyRow extends Omit<Caller, 'credential' | 'scopes' | 'instances'> {
  hash: Uint8Array;
  keyId: string;
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

/** Looks API keys up by their hash. A revocation, suspension or expiry holds on every replica within 2 s. */
export class KeyDirectory {
  readonly #cache: CredentialCache<Caller>;

  constructor(database: Queryable, now: () => number = () => performance.now()) {
    this.#cache = new CredentialCache((hashes) => findCallers(database, hashes), now);
  }

  /** Returns the caller of a key, null for an unknown or revoked one; synchronously if it is cached. */
  find(key: string): Caller | null | Promise<Caller | null> {
    return KEY_FORM.test(key) ? this.#cache.find(hashApiKey(key)) : null;
  }

  /** Forgets what it has read after a change in this process. */
  clear(): void {
    this.#cache.clear();
  }
}

/**
 * Looks up any number of keys with one statement; results in the same order. It also notes once a minute that they are in
 * use. A row that another process notes at the moment is skipped, so lookups wait for no lock.
 */
async function findCallers(database: Queryable, hashes: readonly string[]): Promise<(Caller | null)[]> {
  const wanted = [...new Set(hashes)].map((text) => Buffer.from(text, 'hex'));
  const rows = await database.$queryRaw<KeyRow[]>`
    WITH unnoted AS (
      SELECT id FROM api_keys
      WHERE hash = ANY (${wanted}::bytea[]) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
        AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
      FOR NO KEY UPDATE SKIP LOCKED),
    noted AS (UPDATE api_keys k SET last_used_at = now() FROM unnoted u WHERE k.id = u.id)
    SELECT k.hash, k.id AS "keyId", k.account_id AS "accountId", a.name AS "accountName", k.scopes, k.restricted,
      ARRAY(SELECT i.instance_id::text FROM api_key_instances i WHERE i.api_key_id = k.id) AS "instanceIds",
      a.requests_per_minute AS "requestsPerMinute", a.suspended_at IS NOT NULL AS suspended
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
    WHERE k.hash = ANY (${wanted}::bytea[]) AND k.revoked_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > now())`;
  const byHash = new Map(rows.map((row) => [Buffer.from(row.hash).toString('hex'), callerOf(row)]));
  return hashes.map((hashed) => byHash.get(hashed) ?? null);
}

function callerOf({ hash: _, keyId, scopes, restricted, instanceIds, ...caller }: KeyRow): Caller {
  const instances = restricted || instanceIds.length > 0 ? new Set(instanceIds) : null;
  return { ...caller, credential: { kind: 'key', id: keyId }, scopes: new Set(scopes), instances };
}
