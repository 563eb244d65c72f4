import { fromPublicId, ID_PREFIXES, type IdKind } from '@gwk/core/ids';
import { publicNames } from '../accounts/audit-names.js';
import type { Database } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';

/** The trail of changes as people read it, newest first. */
export async function readTrail(db: Database, where: Prisma.AuditEntryWhereInput, limit: number) {
  const rows = await db.auditEntry.findMany({ where, orderBy: { id: 'desc' }, take: limit });
  return rows.map((row) => ({
    at: row.createdAt.toISOString(),
    ...publicNames(row),
    detail: row.detail,
  }));
}

/** The UUID of any public id; null where it is none. */
export function uuidOf(publicId: string): string | null {
  const kinds = Object.keys(ID_PREFIXES) as IdKind[];
  return kinds.map((kind) => fromPublicId(kind, publicId)).find((uuid) => uuid !== null) ?? null;
}
