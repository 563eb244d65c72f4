import type { Database } from '../../database/database.js';

const findUserId = (actor: string | null): string | null =>
  actor?.startsWith('user:') ? actor.slice('user:'.length) : null;

/** Reads the e-mail addresses of authors, given in the form of the audit log. Commands keep their name. */
export async function readAuthors(
  db: Database,
  actors: readonly (string | null)[],
): Promise<(actor: string | null) => string | null> {
  const ids = actors.flatMap((actor) => findUserId(actor) ?? []);
  const users = await db.user.findMany({ where: { id: { in: ids } }, select: { id: true, email: true } });
  const emails = new Map(users.map(({ id, email }) => [id, email]));
  return (actor) => emails.get(findUserId(actor) ?? '') ?? (actor?.startsWith('cli:') ? actor : null);
}
