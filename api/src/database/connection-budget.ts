import type { Logger } from '@gwk/core/process/log';
import type { Queryable } from './database.js';

/** A bound of Postgres on connections, and how many of them other clients use. */
export interface ConnectionLimit {
  name: string;
  limit: number;
  used: number;
}

export class TooFewConnections extends Error {
  override name = 'TooFewConnections';
}

/**
 * Checks that Postgres allows the connections of this process (docs/operate.md#client-connections). If it never can, the start fails.
 * If other clients use them now, it only logs a warning.
 * @param options `setting`: name of the setting with the size of the pool
 * @throws TooFewConnections
 */
export async function checkConnectionBudget(
  db: Pick<Queryable, '$queryRaw'>,
  { pool, setting, log }: { pool: number; setting: string; log: Logger },
): Promise<void> {
  const limits = await readConnectionLimits(db);
  const tooLow = limits.find(({ limit }) => pool > limit);
  if (tooLow) {
    throw new TooFewConnections(
      `Postgres allows ${tooLow.limit} connections (${tooLow.name}), but ${setting} is ${pool}: lower it, or raise the limit`,
    );
  }
  const inUse = limits.find(({ limit, used }) => pool > limit - used);
  if (!inUse) return;
  log.warn(
    { setting, pool },
    `Postgres allows ${inUse.limit} connections (${inUse.name}), ${inUse.used} are in use, ` +
      `and ${setting} is ${pool}: under load some statements will get no connection (docs/operate.md)`,
  );
}

/** Limits of role and database apply to the session user, not to the role set later (docs/security.md), and to no superuser. */
function readConnectionLimits(db: Pick<Queryable, '$queryRaw'>): Promise<ConnectionLimit[]> {
  // -1 means no limit. backend_type is null for connections of other users unless this role may see it.
  return db.$queryRaw`
    WITH used AS (
      SELECT count(*)::int AS total, count(*) FILTER (WHERE usename = session_user)::int AS by_role,
        count(*) FILTER (WHERE datname = current_database())::int AS in_database
      FROM pg_stat_activity WHERE coalesce(backend_type, 'client backend') = 'client backend'
        AND usename IS NOT NULL AND datname IS NOT NULL AND pid <> pg_backend_pid()),
    role AS (SELECT rolconnlimit FROM pg_roles WHERE rolname = session_user AND NOT rolsuper)
    SELECT 'max_connections without reserved connections' AS name,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int AS "limit", total AS used
    FROM used
    UNION ALL
    SELECT 'the limit of the role', rolconnlimit, by_role FROM used, role WHERE rolconnlimit <> -1
    UNION ALL
    SELECT 'the limit of the database', datconnlimit, in_database FROM used, role, pg_database
    WHERE datname = current_database() AND datconnlimit <> -1`;
}
