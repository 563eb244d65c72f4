import type { InstanceFacts } from '@gwk/core/protocol/operator';
import { Prisma } from '../generated/prisma/client.js';
import type { Database } from '../database/database.js';

/**
 * Reads the facts of instances for the operator's decisions. Deleted instances are missing. The operator asks for every
 * instance each second. Postgres therefore builds the JSON of all rows: a thousand rows of Prisma take twenty times the CPU.
 */
export async function readFacts(database: Database, ids: readonly string[]): Promise<InstanceFacts[]> {
  const [row] = await database.$queryRaw<{ facts: string }[]>`
    SELECT coalesce(json_agg(json_build_object(
      'id', i.id,
      'state', i.state,
      'state_reason', i.state_reason,
      'state_changed_at', ${iso('i.state_changed_at')},
      'first_paired_at', ${iso('i.first_paired_at')},
      'banned_until', ${iso('i.banned_until')},
      'pairing', i.unlink_id IS NOT NULL OR coalesce(p.state = 'pairing', false),
      -- A released lease has neither pod nor end.
      'lease', json_build_object(
        'pod', CASE WHEN l.holder IS NOT NULL THEN l.pod END,
        'epoch', coalesce(l.epoch, 0),
        'expires_at', CASE WHEN l.holder IS NOT NULL THEN ${iso('l.expires_at')} END))), '[]')::text AS facts
    FROM instances i
    LEFT JOIN instance_leases l ON l.instance_id = i.id
    LEFT JOIN pairing_sessions p ON p.instance_id = i.id
    WHERE i.id = ANY(${[...ids]}::uuid[]) AND i.deleted_at IS NULL`;
  return JSON.parse(row!.facts) as InstanceFacts[];
}

const iso = (column: string): Prisma.Sql =>
  Prisma.raw(`to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`);
