import { timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '@gwk/core/canonical-json';
import { newUuid } from '@gwk/core/ids';
import { Problem } from '@gwk/core/problems';
import type { Sealer } from '@gwk/core/encryption';
import type { Queryable } from '../../database/database.js';
import { makeRecordId, type RequestName } from './record-id.js';

/**
 * Stores the first answer to a POST with an `Idempotency-Key` for 24 hours, per account and route.
 *
 * `begin` stores a mark with a lock of 10 s; `complete` replaces it by the answer; `abandon` deletes it (a refused request
 * does not use up its key); `release` ends the lock. If the process dies in between, the lock expires, and the next request
 * with the same body resumes with the same resource id. `POST /v1/messages` has no marks: it writes its record with the message.
 */
const IDEMPOTENCY_HOURS = 24;
const MARK_SECONDS = 10;
const MAX_KEY = 255;
const HASH_BYTES = 16;
export const RESPONSE_COLUMN = 'idempotency_records.response_sealed';

interface IdempotentRequest extends RequestName {
  bodyHash: Buffer;
  /** Hashes under former encryption keys, so that a retry matches after a key rotation. */
  formerHashes?: readonly Buffer[];
  /** Instance of the request, to check a replay against the restriction of the API key. */
  instanceId: string | null;
}

/** Handle of a mark. The first owner of a mark that another request took over can neither complete nor abandon it. */
export interface Mark extends RequestName {
  /** End of the lock in milliseconds since 1970, as stored in Postgres. */
  lockedUntil: string;
}

export type BeginResult =
  /** `resourceId`: id of the resource to create. */
  | { kind: 'fresh'; resourceId: string; mark: Mark }
  /** The first owner died: look for `resourceId` before you create it. */
  | { kind: 'resumed'; resourceId: string; mark: Mark }
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

const IS_MINE = `id = $1::uuid AND status IS NULL AND locked_until = to_timestamp($2::text::bigint / 1000.0)`;

interface Row {
  fresh: boolean;
  resource_id: string;
  locked_until: string;
}

interface Existing {
  body_hash: Uint8Array;
  instance_id: string | null;
  status: number | null;
  response_sealed: Uint8Array | null;
}

export class IdempotencyStore {
  constructor(
    private readonly database: Queryable,
    private readonly sealer: Sealer,
  ) {}

  async begin(request: IdempotentRequest): Promise<BeginResult> {
    // Between a lost insert and the read of the winning record, the winner may abandon it: then the key is free again.
    for (let attempt = 0; attempt < 3; attempt++) {
      const begun = (await this.#take(request)) ?? (await this.#existing(request));
      if (begun) return begun;
    }
    return { kind: 'in-progress' };
  }

  /** Stores a 2xx answer. Has no effect if another request took the mark over and completed it. */
  async complete(mark: Mark, { status, body }: { status: number; body: unknown }): Promise<void> {
    const sealed = this.sealer.sealJson(mark.accountId, RESPONSE_COLUMN, body ?? null);
    await this.database.$executeRawUnsafe(
      `UPDATE idempotency_records
       SET status = $2::int, response_sealed = $3::bytea, locked_until = NULL
       WHERE id = $1::uuid AND status IS NULL`,
      makeRecordId(mark),
      status,
      sealed,
    );
  }

  /** Deletes the mark of a refused request, which left nothing behind, so that its key is free. */
  async abandon(mark: Mark): Promise<void> {
    await this.database.$executeRawUnsafe(
      `DELETE FROM idempotency_records WHERE ${IS_MINE}`,
      makeRecordId(mark),
      mark.lockedUntil,
    );
  }

  /** Ends the lock of a request that failed half-way, so that a retry resumes at once with the same resource id. */
  async release(mark: Mark): Promise<void> {
    await this.database.$executeRawUnsafe(
      `UPDATE idempotency_records SET locked_until = date_trunc('milliseconds', clock_timestamp()) WHERE ${IS_MINE}`,
      makeRecordId(mark),
      mark.lockedUntil,
    );
  }

  /** Takes a free key: never used, expired, or with an expired lock and the same body. */
  async #take(request: IdempotentRequest): Promise<BeginResult | null> {
    const { accountId, route, key, bodyHash, instanceId, formerHashes = [] } = request;
    const resourceId = newUuid();
    const rows = await this.database.$queryRawUnsafe<Row[]>(
      `INSERT INTO idempotency_records AS r
         (id, account_id, body_hash, instance_id, resource_id, locked_until, expires_at)
       VALUES ($1::uuid, $2::uuid, $3::bytea, $4::uuid, $5::uuid,
         date_trunc('milliseconds', clock_timestamp()) + make_interval(secs => ${MARK_SECONDS}),
         now() + make_interval(hours => ${IDEMPOTENCY_HOURS}))
       ON CONFLICT (id) DO UPDATE
       SET account_id = excluded.account_id, instance_id = excluded.instance_id, body_hash = excluded.body_hash, status = NULL,
         response_sealed = NULL, locked_until = excluded.locked_until,
         resource_id = CASE WHEN r.expires_at <= now() THEN excluded.resource_id ELSE r.resource_id END,
         expires_at = excluded.expires_at
       WHERE r.expires_at <= now()
         OR (r.status IS NULL AND r.locked_until <= clock_timestamp() AND r.body_hash = ANY ($6::bytea[]))
       RETURNING resource_id = $5::uuid AS fresh, resource_id::text,
         (extract(epoch FROM locked_until) * 1000)::bigint::text AS locked_until`,
      makeRecordId(request),
      accountId,
      bodyHash,
      instanceId,
      resourceId,
      [bodyHash, ...formerHashes],
    );
    const row = rows[0];
    if (!row) return null;
    const mark = { accountId, route, key, lockedUntil: row.locked_until };
    return { kind: row.fresh ? 'fresh' : 'resumed', resourceId: row.resource_id, mark };
  }

  async #existing(request: IdempotentRequest): Promise<BeginResult | null> {
    const { accountId } = request;
    const rows = await this.database.$queryRawUnsafe<Existing[]>(
      `SELECT body_hash, instance_id::text, status, response_sealed FROM idempotency_records
       WHERE id = $1::uuid AND expires_at > now()`,
      makeRecordId(request),
    );
    const row = rows[0];
    if (!row) return null;
    if (!isSameBody(request, row.body_hash)) return { kind: 'reused' };
    if (row.status === null || row.response_sealed === null) return { kind: 'in-progress' };
    const body = this.sealer.openJson(accountId, RESPONSE_COLUMN, row.response_sealed);
    return { kind: 'replay', status: row.status, body, instanceId: row.instance_id };
  }
}

/**
 * Schedules the removal of the pairing code in a stored answer: at `expiresAt` the worker replaces the answer by
 * `bodyAfter`, which is encrypted for the same place, so the worker need not decrypt anything.
 */
export async function expireAnswerCode(
  db: Queryable,
  sealer: Sealer,
  answer: RequestName & { bodyAfter: unknown; expiresAt: Date },
): Promise<void> {
  const { accountId, expiresAt } = answer;
  const after = sealer.sealJson(accountId, RESPONSE_COLUMN, answer.bodyAfter);
  await db.$executeRaw`
    INSERT INTO expiring_codes (id, account_id, record_id, replacement_sealed, expires_at)
    VALUES (${newUuid()}::uuid, ${accountId}::uuid, ${makeRecordId(answer)}::uuid, ${after}, ${expiresAt})`;
}
