import type { EngineRequest, EngineResponse, SessionEntry } from '@gwk/core/protocol/engine';
import type { InternalDeps } from './dependencies.js';
import { Prisma } from '../generated/prisma/client.js';
import { leaseArrays, type EngineCaller } from '../fencing/fence.js';
import type { SessionBound } from './session-bound.js';
import { RefusalError, type LeaseRefusal } from '../fencing/refusal.js';

/** Column of the credentials and Signal keys of a session, which are encrypted for its instance. */
const COLUMN = 'session_keys.value_sealed';

interface SessionRow {
  refusal: LeaseRefusal;
  type: string | null;
  key: string | null;
  value_sealed: Uint8Array | null;
  /** Found rows, at most PAGE_ROWS. */
  total: number | null;
}

const PAGE_BYTES = 1024 * 1024;
const PAGE_ROWS = 5_000;

/** Reads credentials and Signal keys, by type or by single key: the first about 1 MB, in the order of types and keys. */
export async function readSession(
  { database, sealer }: Pick<InternalDeps, 'database' | 'sealer'>,
  { instanceId }: EngineCaller,
  request: EngineRequest<'session-read'>,
): Promise<EngineResponse<'session-read'>> {
  const whole = request.wanted.filter(({ keys }) => keys === null).map(({ type }) => type);
  const single = request.wanted.flatMap(({ type, keys }) => (keys ?? []).map((key) => ({ type, key })));
  const { type: afterType, key: afterKey } = request.after ?? { type: null, key: null };
  const rows = await database.queryRows<SessionRow>(Prisma.sql`
    WITH found AS (
      SELECT s.type, s.key, s.value_sealed, count(*) OVER () AS total,
        sum(octet_length(s.value_sealed)) OVER (ORDER BY s.type, s.key) - octet_length(s.value_sealed) AS bytes_before
      FROM (
        SELECT k.type, k.key, k.value_sealed FROM session_keys k
        WHERE k.instance_id = ${instanceId}::uuid
          AND (${afterType}::text IS NULL OR (k.type, k.key) > (${afterType}::text, ${afterKey}::text))
          AND (
            k.type = ANY (${whole}::text[])
            OR (k.type, k.key) IN (
              SELECT * FROM unnest(${single.map(({ type }) => type)}::text[], ${single.map(({ key }) => key)}::text[])))
        ORDER BY k.type, k.key LIMIT ${PAGE_ROWS}) s)
    SELECT l.refusal, f.type, f.key, f.value_sealed, f.total::integer AS total
    FROM (SELECT (gwk_fence(${leaseArrays([{ ...request, instanceId }])}))[1] AS refusal) AS l
    LEFT JOIN found f ON l.refusal IS NULL AND f.bytes_before < ${PAGE_BYTES}
    ORDER BY f.type, f.key`);
  if (rows[0]!.refusal) throw new RefusalError(rows[0]!.refusal);
  const entries = rows.flatMap(({ type, key, value_sealed }): SessionEntry[] => {
    if (type === null || key === null || value_sealed === null) return [];
    return [{ type, key, value: sealer.open(instanceId, COLUMN, value_sealed).toString('base64') }];
  });
  const total = rows[0]!.total ?? 0;
  return { entries, ...((total > entries.length || total === PAGE_ROWS) && { more: true }) };
}

/**
 * Writes credentials and Signal keys in one transaction, durable when it is answered: an engine sends nothing that depends on
 * unstored keys.
 * @throws RefusalError `session-full`, and those of the lease
 */
export async function writeSession(
  { database, sealer, bound }: Pick<InternalDeps, 'database' | 'sealer'> & { bound: SessionBound },
  { instanceId }: EngineCaller,
  request: EngineRequest<'session-write'>,
): Promise<void> {
  // The last value of a repeated key wins. Sorted, so that two writes of one session cannot deadlock.
  const entries = [
    ...new Map(request.entries.map((entry) => [`${entry.type}\n${entry.key}`, entry])).entries(),
  ]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, entry]) => entry);
  const sealed = entries.map(({ value }) =>
    value === null ? null : sealer.seal(instanceId, COLUMN, Buffer.from(value, 'base64')),
  );
  const kept = entries.flatMap(({ type, key }, at) => {
    const value = sealed[at];
    return value ? [value.length + Buffer.byteLength(type) + Buffer.byteLength(key)] : [];
  });
  await bound.count(instanceId, { bytes: kept.reduce((sum, bytes) => sum + bytes, 0), keys: kept.length });
  const [row] = await database.queryRows<{ refusal: LeaseRefusal }>(Prisma.sql`
    SELECT gwk_write_session(${instanceId}::uuid, ${request.epoch}::integer, ${request.holder}::uuid,
      ${request.number}::bigint, ${entries.map(({ type }) => type)}::text[], ${entries.map(({ key }) => key)}::text[], ${sealed}::bytea[])
      AS refusal`);
  if (row!.refusal) throw new RefusalError(row!.refusal);
}
