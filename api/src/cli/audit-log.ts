import { fromPublicId, ID_PREFIXES, type IdKind } from '@gwk/core/ids';
import { publicNames } from '../accounts/audit-names.js';
import type { Database } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';

/** Reads the audit log with public ids, newest first. */
export async function readAuditLog(db: Database, where: Prisma.AuditEntryWhereInput, limit: number) {
  const rows = await db.auditEntry.findMany({ where, orderBy: { id: 'desc' }, take: limit });
  return rows.map((row) => ({
    at: row.createdAt.toISOString(),
    ...publicNames(row),
    detail: row.detail,
  }));
}

/** Returns the UUID of a public id of any kind; null for anything else. */
export function parsePublicId(publicId: string): string | null {
  const kinds = Object.keys(ID_PREFIXES) as IdKind[];
  return kinds.map((kind) => fromPublicId(kind, publicId)).find((uuid) => uuid !== null) ?? null;
}
