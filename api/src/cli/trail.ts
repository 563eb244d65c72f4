import { fromPublicId, ID_PREFIXES, toPublicId, type IdKind } from '@gwk/core/ids';
import type { Database } from '../database.js';
import type { AuditEntry, Prisma } from '../generated/prisma/client.js';

/** The trail of changes as people read it: with public ids. */
const KINDS: Record<string, IdKind> = {
  account: 'account',
  instance: 'instance',
  key: 'apiKey',
  webhook: 'endpoint',
};
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Newest first. */
export async function readTrail(db: Database, where: Prisma.AuditEntryWhereInput, limit: number) {
  const rows = await db.auditEntry.findMany({ where, orderBy: { id: 'desc' }, take: limit });
  return rows.map(shown);
}

function shown({ createdAt, accountId, actor, action, subject, detail }: AuditEntry) {
  const kind = KINDS[action.split('.')[0]!];
  const key = actor.startsWith('key:') ? actor.slice('key:'.length) : null;
  return {
    at: createdAt.toISOString(),
    account: accountId === null ? null : toPublicId('account', accountId),
    actor: key === null ? actor : `key:${toPublicId('apiKey', key)}`,
    action,
    // A policy is an account's or an instance's: its detail cannot tell, the id alone can be found.
    subject: kind && UUID.test(subject) ? toPublicId(kind, subject) : subject,
    detail,
  };
}

/** The UUID of any public id; null where it is none. */
export function uuidOf(publicId: string): string | null {
  const kinds = Object.keys(ID_PREFIXES) as IdKind[];
  return kinds.map((kind) => fromPublicId(kind, publicId)).find((uuid) => uuid !== null) ?? null;
}
