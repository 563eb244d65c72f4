import type { Logger } from '@gwk/core/log';
import type { Queryable } from './database.js';

export interface ConnectionBudget {
  /** max_connections without the connections reserved for administrators. */
  connections: number;
  /** Limits of the role and the database. Null: no limit. */
  roleLimit: number | null;
  databaseLimit: number | null;
  used: { all: number; role: number; database: number };
}

export type ConnectionDecision = { fits: 'always' } | { fits: 'never' | 'not-now'; message: string };

export class TooFewConnections extends Error {
  override name = 'TooFewConnections';
}

/** @param setting name of the setting with the size of the pool */
export function decideConnectionBudget(
  pool: number,
  setting: string,
  budget: ConnectionBudget,
): ConnectionDecision {
  const { connections, roleLimit, databaseLimit, used } = budget;
  const bounds = [
    { name: 'max_connections without reserved connections', limit: connections, used: used.all },
    { name: 'the limit of the role', limit: roleLimit, used: used.role },
    { name: 'the limit of the database', limit: databaseLimit, used: used.database },
  ].filter((bound): bound is { name: string; limit: number; used: number } => bound.limit !== null);
  const tooLow = bounds.find(({ limit }) => pool > limit);
  if (tooLow) {
    const message = `Postgres allows ${tooLow.limit} connections (${tooLow.name}), but ${setting} is ${pool}: lower it, or raise the limit`;
    return { fits: 'never', message };
  }
  const inUse = bounds.find(({ limit, used: taken }) => pool > limit - taken);
  if (!inUse) return { fits: 'always' };
  const message =
    `Postgres allows ${inUse.limit} connections (${inUse.name}), ${inUse.used} are in use, ` +
    `and ${setting} is ${pool}: under load some statements will get no connection (docs/operate.md)`;
  return { fits: 'not-now', message };
}

/**
 * Checks that Postgres allows the connections of this process (docs/operate.md#client-connections). If it never can, the start fails.
 * If other clients use them now, it only logs a warning.
 * @throws TooFewConnections
 */
export async function checkConnectionBudget(
  db: Queryable,
  { pool, setting, log }: { pool: number; setting: string; log: Logger },
): Promise<void> {
  const decision = decideConnectionBudget(pool, setting, await readConnectionBudget(db));
  if (decision.fits === 'never') throw new TooFewConnections(decision.message);
  if (decision.fits === 'not-now') log.warn({ setting, pool }, decision.message);
}

async function readConnectionBudget(db: Queryable): Promise<ConnectionBudget> {
  // Limits apply to the session user, not to the role set later (docs/security.md). A superuser has no limits, and -1
  // means no limit. backend_type is null for connections of other users unless this role may see it.
  const [row] = await db.$queryRaw<
    (Omit<ConnectionBudget, 'used'> & Record<'all' | 'role' | 'database', number>)[]
  >`
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
