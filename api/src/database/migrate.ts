import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { postgresConnection } from './connection.js';

/**
 * Applies the migrations and records them as `prisma migrate deploy` does (its table, its checksum, its lock), so
 * that Prisma's own commands agree afterwards. Images need neither Prisma's command line nor its engine for it.
 */

const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));
/** The advisory lock of Prisma's schema engine. */
const PRISMA_LOCK = 72707369;

const CREATE_TABLE = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                  VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum            VARCHAR(64) NOT NULL,
    finished_at         TIMESTAMPTZ,
    migration_name      VARCHAR(255) NOT NULL,
    logs                TEXT,
    rolled_back_at      TIMESTAMPTZ,
    started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`;

export interface MigratedDatabase {
  url: string;
  /** Certificate authority (PEM). */
  ca?: string | undefined;
}

const CONNECT_TIMEOUT_MS = 10_000;

interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

interface Applied {
  migration_name: string;
  checksum: string;
  finished_at: Date | null;
  /** What was wrong, once it has failed. */
  logs: string | null;
}

/**
 * @returns the names of the migrations applied now, in order
 * @throws Error where a migration fails, or was changed after it was applied
 */
export async function migrate(database: MigratedDatabase | string, folder = MIGRATIONS): Promise<string[]> {
  const client = clientOf(database);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [PRISMA_LOCK]);
    await client.query(CREATE_TABLE);
    const waiting = await pendingMigrations(client, readMigrations(folder));
    for (const migration of waiting) await apply(client, migration);
    return waiting.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/**
 * Names of the migrations that are still to be applied. Changes nothing, and takes no lock.
 * @throws Error as migrate does
 */
export async function pendingNow(
  database: MigratedDatabase | string,
  folder = MIGRATIONS,
): Promise<string[]> {
  const client = clientOf(database);
  await client.connect();
  try {
    const { rows } = await client.query<{ there: boolean }>(
      "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there",
    );
    const all = readMigrations(folder);
    const pending = rows[0]!.there ? await pendingMigrations(client, all, { underWay: 'pending' }) : all;
    return pending.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

function clientOf(database: MigratedDatabase | string): pg.Client {
  const { url, ca } = typeof database === 'string' ? { url: database, ca: undefined } : database;
  const client = new pg.Client({
    ...postgresConnection(url, ca),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A connection that breaks while nothing is asked of it must not end the program.
  client.on('error', () => undefined);
  return client;
}

function readMigrations(folder: string): Migration[] {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  return names.map((name) => {
    const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8');
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
  });
}

/**
 * One that failed left its reason and nothing else: who migrates tries it again, who waits is told. One without a reason
 * was begun by Prisma's own command, which may be at it; under the lock it has ended, and nobody knows how far it came.
 */
async function pendingMigrations(
  client: pg.Client,
  migrations: Migration[],
  { underWay }: { underWay: 'failed' | 'pending' } = { underWay: 'failed' },
): Promise<Migration[]> {
  const { rows } = await client.query<Applied>(
    'SELECT migration_name, checksum, finished_at, logs FROM _prisma_migrations WHERE rolled_back_at IS NULL',
  );
  const applied = new Map(rows.map((row) => [row.migration_name, row]));
  return migrations.filter(({ name, checksum }) => {
    const before = applied.get(name);
    if (before?.finished_at === null) {
      if ((underWay === 'pending') === (before.logs === null)) return true;
      if (before.logs !== null) throw new Error(`migration ${name} failed: ${before.logs}`);
      throw new Error(
        `migration ${name} was begun by another program that did not finish it. See whether it was applied; then set ` +
          `rolled_back_at (it was not) or finished_at (it was) of its row in _prisma_migrations to now()`,
      );
    }
    if (before && before.checksum !== checksum) {
      throw new Error(
        `migration ${name} was changed after it was applied to this database, which another version made ` +
          '(on one machine "make reset" begins anew)',
      );
    }
    return before === undefined;
  });
}

const GIVE_UP_FAILED =
  'UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = $1 AND finished_at IS NULL AND rolled_back_at IS NULL';
const INSERT =
  'INSERT INTO _prisma_migrations (id, checksum, migration_name, logs, finished_at, applied_steps_count) VALUES ($1, $2, $3, $4, $5, $6)';

/**
 * The migration and the word that it was applied, in one transaction: whoever is killed half-way, or loses Postgres,
 * leaves nothing behind, and the next run begins it anew. One that fails leaves the reason, for those that wait.
 */
async function apply(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  const record = [randomUUID(), checksum, name];
  try {
    await client.query('BEGIN');
    await client.query(GIVE_UP_FAILED, [name]);
    await client.query(sql);
    await client.query(INSERT, [...record, null, new Date(), 1]);
    await client.query('COMMIT');
  } catch (error) {
    const { message } = error as Error;
    await leaveReason(client, record, message).catch(() => undefined);
    throw new Error(`migration ${name}: ${message}`, { cause: error });
  }
}

/** Where Postgres is gone there is nobody to leave it to. */
async function leaveReason(client: pg.Client, record: string[], reason: string): Promise<void> {
  await client.query('ROLLBACK');
  await client.query(GIVE_UP_FAILED, record.slice(-1));
  await client.query(INSERT, [...record, reason, null, 0]);
}
