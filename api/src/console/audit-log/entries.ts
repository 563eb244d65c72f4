import { fromPublicId, ID_PREFIXES, lowestUuidAt, toPublicId, type IdKind } from '@gwk/core/ids/ids';
import type { AuditEntryOut, AuditFilterQuery } from '../../resources/console/audit.js';
import { publicNames } from '../../accounts/audit-log.js';
import type { Database } from '../../database/database.js';
import type { PageRange } from '../../database/keyset-pages.js';
import type { AuditEntry, Prisma } from '../../generated/prisma/client.js';

export type NamedEntry = AuditEntry & { actorName: string | null };

/**
 * Reads entries of an account, newest first. Changes that people make to themselves (password, second factor, sign-in)
 * belong to no account; the log shows those of the members. It also shows failed sign-ins and locks of the members, which
 * strangers cause.
 */
export async function readEntries(
  db: Database,
  { accountId, filters }: { accountId: string; filters: AuditFilterQuery },
  { before, limit }: PageRange,
): Promise<NamedEntry[]> {
  const where = await toWhere(db, filters, before);
  const members = await db.member.findMany({ where: { accountId }, select: { userId: true } });
  const people = members.map(({ userId }) => userId);
  const actors = people.map((userId) => `user:${userId}`);
  const read = (whose: Prisma.AuditEntryWhereInput) =>
    db.auditEntry.findMany({ where: { AND: [whose, where] }, orderBy: { id: 'desc' }, take: limit });
  const found = await Promise.all([
    read({ accountId }),
    read({ accountId: null, actor: { in: actors } }),
    read({ accountId: null, actor: 'anyone', subject: { in: people } }),
  ]);
  const rows = found.flat().sort((one, other) => (one.id < other.id ? 1 : -1));
  return nameActors(db, rows.slice(0, limit));
}

async function toWhere(
  db: Database,
  { actor, action, subject, since, until }: AuditFilterQuery,
  before: string | null,
): Promise<Prisma.AuditEntryWhereInput> {
  const at = (time: string): string => lowestUuidAt(Date.parse(time));
  return {
    AND: [
      ...(before === null ? [] : [{ id: { lt: before } }]),
      ...(since === undefined ? [] : [{ id: { gte: at(since) } }]),
      ...(until === undefined ? [] : [{ id: { lt: at(until) } }]),
      ...(actor === undefined ? [] : [{ actor: await toActor(db, actor) }]),
      ...(action === undefined ? [] : [{ OR: [{ action }, { action: { startsWith: `${action}.` } }] }]),
      ...(subject === undefined ? [] : [{ subject: toSubject(subject) }]),
    ],
  };
}

async function toActor(db: Database, given: string): Promise<string> {
  const id = given.slice(given.indexOf(':') + 1);
  const [user, key] = [fromPublicId('user', id), fromPublicId('apiKey', id)];
  if (user !== null) return `user:${user}`;
  if (key !== null) return `key:${key}`;
  if (!given.includes('@')) return given;
  const found = await db.user.findUnique({ where: { email: given.toLowerCase() } });
  return found ? `user:${found.id}` : given;
}

const toSubject = (given: string): string =>
  (Object.keys(ID_PREFIXES) as IdKind[]).map((kind) => fromPublicId(kind, given)).find((id) => id !== null) ??
  given;

async function nameActors(db: Database, rows: readonly AuditEntry[]): Promise<NamedEntry[]> {
  const ids = (kind: string) => [
    ...new Set(
      rows.flatMap(({ actor }) => (actor.startsWith(`${kind}:`) ? [actor.slice(kind.length + 1)] : [])),
    ),
  ];
  const [users, keys] = await Promise.all([
    db.user.findMany({ where: { id: { in: ids('user') } }, select: { id: true, email: true } }),
    db.apiKey.findMany({ where: { id: { in: ids('key') } }, select: { id: true, name: true } }),
  ]);
  const names = new Map<string, string>([
    ...users.map(({ id, email }) => [`user:${id}`, email] as const),
    ...keys.map(({ id, name }) => [`key:${id}`, name] as const),
  ]);
  return rows.map((row) => ({ ...row, actorName: names.get(row.actor) || null }));
}

export function viewEntry(row: NamedEntry): AuditEntryOut {
  const { actor, action, subject } = publicNames(row);
  return {
    id: toPublicId('auditEntry', row.id),
    at: row.createdAt.toISOString(),
    actor,
    actor_name: row.actorName,
    action,
    subject,
    detail: row.detail as Record<string, unknown>,
  };
}
