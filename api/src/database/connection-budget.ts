import type { Logger } from '@gwk/core/log';
import type { Queryable } from './database.js';

/**
 * Whether Postgres has room for the connections that this process may open (docs/operate.md, Connections). What can
 * never be is refused at the start; what is not so now is said, because others may leave.
 */
export interface Room {
  /** max_connections less those that Postgres keeps for its administrators. */
  connections: number;
  /** Of the role and of the database; null: none of their own. */
  roleLimit: number | null;
  databaseLimit: number | null;
  used: { all: number; role: number; database: number };
}

export type ConnectionVerdict = { fits: 'always' } | { fits: 'never' | 'not-now'; message: string };

export class TooFewConnections extends Error {
  override name = 'TooFewConnections';
}

/** @param setting what holds the size of the pool */
export function decideConnectionBudget(pool: number, setting: string, room: Room): ConnectionVerdict {
  const { connections, roleLimit, databaseLimit, used } = room;
  const bounds = [
    { name: 'max_connections, less those kept for administrators,', limit: connections, used: used.all },
    { name: 'the limit of the role', limit: roleLimit, used: used.role },
    { name: 'the limit of the database', limit: databaseLimit, used: used.database },
  ].filter((bound): bound is { name: string; limit: number; used: number } => bound.limit !== null);
  const narrow = bounds.find(({ limit }) => pool > limit);
  if (narrow) {
    const message = `Postgres allows ${narrow.limit} connections (${narrow.name}), and ${setting} asks for ${pool}: lower it, or raise the limit`;
    return { fits: 'never', message };
  }
  const full = bounds.find(({ limit, used: taken }) => pool > limit - taken);
  if (!full) return { fits: 'always' };
  const message =
    `of the ${full.limit} connections that Postgres allows (${full.name}) ${full.used} are in use, ` +
    `and ${setting} asks for ${pool}: under load some statements will find none (docs/operate.md)`;
  return { fits: 'not-now', message };
}

/** @throws TooFewConnections */
export async function checkConnectionBudget(
  db: Queryable,
  { pool, setting, log }: { pool: number; setting: string; log: Logger },
): Promise<void> {
  const verdict = decideConnectionBudget(pool, setting, await readConnectionBudget(db));
  if (verdict.fits === 'never') throw new TooFewConnections(verdict.message);
  if (verdict.fits === 'not-now') log.warn({ setting, pool }, verdict.message);
}

async function readConnectionBudget(db: Queryable): Promise<Room> {
  // Limits are of who has connected, whatever role it acts as (docs/security.md, Rotation). One that may do everything
  // is bound by nothing of its own; -1 is no limit. Of others' connections everybody may see user and database, but not
  // the kind, that is null then.
  const [row] = await db.$queryRaw<(Omit<Room, 'used'> & Record<'all' | 'role' | 'database', number>)[]>`
    SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int AS connections,
      (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = session_user AND NOT rolsuper) AS "roleLimit",
      (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()
        AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user)) AS "databaseLimit",
      count(*)::int AS "all",
      count(*) FILTER (WHERE usename = session_user)::int AS "role",
      count(*) FILTER (WHERE datname = current_database())::int AS "database"
    FROM pg_stat_activity WHERE coalesce(backend_type, 'client backend') = 'client backend'
      AND usename IS NOT NULL AND datname IS NOT NULL AND pid <> pg_backend_pid()`;
  const { connections, roleLimit, databaseLimit, all, role, database } = row!;
  return { connections, roleLimit, databaseLimit, used: { all, role, database } };
}
