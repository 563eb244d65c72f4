import { hash, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '@gwk/core/text/canonical-json';
import { newUuid } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Database } from '../../database/database.js';
import type { Answer } from '../respond.js';

/**
 * Stores the first answer to a POST with an `Idempotency-Key` for 24 hours, per account and route.
 *
 * `begin` stores a mark with a lock of 10 s; `complete` replaces it by the answer; `abandon` deletes it (a refused request
 * does not use up its key); `release` ends the lock. If the process dies in between, the lock expires, and the next request
 * with the same body resumes with the same resource id. `POST /v1/messages` has no marks: it writes its record with the message.
 */
const MAX_KEY = 255;
const HASH_BYTES = 16;
export const RESPONSE_COLUMN = 'idempotency_records.response_sealed';

/** Identity of a request with an `Idempotency-Key`. */
export interface RequestName {
  accountId: string;
  /** Method and path pattern, for example `POST /v1/instances`. */
  route: string;
  key: string;
}

/**
 * Id of the record: 128 bits of SHA-256, as 32 hex digits. Keys of consumers may be long; an index of these ids has a third
 * of the size of an index of keys (docs/decisions/0025-look-up-external-keys-by-16-byte-digests.md).
 */
export function makeRecordId({ accountId, route, key }: RequestName): string {
  return hash('sha256', `${accountId}\n${route}\n${key}`, 'hex').slice(0, 32);
}

interface IdempotentRequest extends RequestName {
  bodyHash: Buffer;
  /** Hashes under former encryption keys, so that a retry matches after a key rotation. */
  formerHashes?: readonly Buffer[];
  /** Instance of the request, to check a replay against the restriction of the API key. */
  instanceId: string | null;
}

/** Handle of a mark. The first owner of a mark that another request took over can neither complete nor abandon it. */
export interface Mark {
  recordId: string;
  accountId: string;
  lockedUntil: Date;
}

export type BeginResult =
  /**
   * `resourceId`: id of the resource to create. `resumed`: the first owner died, so look for the resource before you create
   * it.
   */
  | { kind: 'fresh' | 'resumed'; resourceId: string; mark: Mark }
  | { kind: 'replay'; status: number; body: unknown; instanceId: string | null }
  | { kind: 'in-progress' }
  | { kind: 'reused' };

/**
 * @returns null if the request has no key
 * @throws Problem `invalid-idempotency-key`
 */
export function readIdempotencyKey(header: string | undefined): string | null {
  if (header === undefined) return null;
  if (header.length === 0 || header.length > MAX_KEY) throw new Problem('invalid-idempotency-key');
  return header;
}

/** Hashes a body independently of the order of its keys and of its spacing. */
export function hashBodyWithAllKeys(
  sealer: Sealer,
  accountId: string,
  body: unknown,
): { bodyHash: Buffer; formerHashes: readonly Buffer[] } {
  const whole = sealer.fingerprints(accountId, 'idempotent body', canonicalJson(body));
  const [bodyHash, ...formerHashes] = whole.map((hash) => hash.subarray(0, HASH_BYTES));
  return { bodyHash: bodyHash!, formerHashes };
}

export function isSameBody(
  { bodyHash, formerHashes = [] }: { bodyHash: Buffer | null; formerHashes?: readonly Buffer[] },
  kept: Uint8Array,
): boolean {
  if (bodyHash === null) return false;
  const matches = (hash: Buffer): boolean => hash.length === kept.length && timingSafeEqual(hash, kept);
  return matches(bodyHash) || formerHashes.some(matches);
}

const ownRecord = ({ recordId, lockedUntil }: Mark) => ({ id: recordId, status: null, lockedUntil });

export class IdempotencyStore {
  constructor(
    private readonly database: Database,
    private readonly sealer: Sealer,
  ) {}

  async begin(request: IdempotentRequest): Promise<BeginResult> {
    const recordId = makeRecordId(request);
    // Between a lost insert and the read of the winning record, the winner may abandon it: then the key is free again.
    for (let attempt = 0; attempt < 3; attempt++) {
      const begun = (await this.#take(recordId, request)) ?? (await this.#existing(recordId, request));
      if (begun) return begun;
    }
    return { kind: 'in-progress' };
  }

  /**
   * Stores a 2xx answer. Has no effect if another request took the mark over and completed it.
   *
   * The worker replaces an answer whose code has expired by its `bodyAfter`. That is encrypted for the same place, so the
   * worker need not decrypt anything. It is stored first, so that a crash in between leaves no code without an expiry.
   */
  async complete({ recordId, accountId }: Mark, { status, body, expiring }: Answer): Promise<void> {
    const seal = (value: unknown = null) =>
      new Uint8Array(this.sealer.sealJson(accountId, RESPONSE_COLUMN, value));
    if (expiring) {
      const replacementSealed = seal(expiring.bodyAfter);
      await this.database.expiringCode.create({
        data: { id: newUuid(), accountId, recordId, replacementSealed, expiresAt: expiring.at },
      });
    }
    await this.database.idempotencyRecord.updateMany({
      where: { id: recordId, status: null },
      data: { status, responseSealed: seal(body), lockedUntil: null },
    });
  }

  /** Deletes the mark of a refused request, which left nothing behind, so that its key is free. */
  async abandon(mark: Mark): Promise<void> {
    await this.database.idempotencyRecord.deleteMany({ where: ownRecord(mark) });
  }

  /** Ends the lock of a request that failed half-way, so that a retry resumes at once with the same resource id. */
  async release(mark: Mark): Promise<void> {
    await this.database.idempotencyRecord.updateMany({
      where: ownRecord(mark),
      data: { lockedUntil: new Date(0) },
    });
  }

  /** Takes a free key: never used, expired, or with an expired lock and the same body. */
  async #take(recordId: string, request: IdempotentRequest): Promise<BeginResult | null> {
    const { accountId, bodyHash, instanceId, formerHashes = [] } = request;
    const newId = newUuid();
    const [row] = await this.database.$queryRaw<{ resource_id: string; locked_until: Date }[]>`
      INSERT INTO idempotency_records AS r
        (id, account_id, body_hash, instance_id, resource_id, locked_until, expires_at)
      VALUES (${recordId}::uuid, ${accountId}::uuid, ${bodyHash}, ${instanceId}::uuid, ${newId}::uuid,
        clock_timestamp() + interval '10 seconds', now() + interval '24 hours')
      ON CONFLICT (id) DO UPDATE
      SET account_id = excluded.account_id, instance_id = excluded.instance_id, body_hash = excluded.body_hash, status = NULL,
        response_sealed = NULL, locked_until = excluded.locked_until,
        resource_id = CASE WHEN r.expires_at <= now() THEN excluded.resource_id ELSE r.resource_id END,
        expires_at = excluded.expires_at
      WHERE r.expires_at <= now()
        OR (r.status IS NULL AND r.locked_until <= clock_timestamp()
          AND r.body_hash = ANY (${[bodyHash, ...formerHashes]}::bytea[]))
      RETURNING resource_id::text, locked_until`;
    if (!row) return null;
    const { resource_id: resourceId, locked_until: lockedUntil } = row;
    const mark = { recordId, accountId, lockedUntil };
    return { kind: resourceId === newId ? 'fresh' : 'resumed', resourceId, mark };
  }

  async #existing(recordId: string, request: IdempotentRequest): Promise<BeginResult | null> {
    // Not findUnique: for reads of one moment, Prisma compares the ids of the rows with this one, which has no hyphens.
    const row = await this.database.idempotencyRecord.findFirst({ where: { id: recordId } });
    if (!row) return null;
    if (!isSameBody(request, row.bodyHash)) return { kind: 'reused' };
    const { status, responseSealed, instanceId } = row;
    if (status === null || responseSealed === null) return { kind: 'in-progress' };
    const body = this.sealer.openJson(request.accountId, RESPONSE_COLUMN, responseSealed);
    return { kind: 'replay', status, body, instanceId };
  }
}
