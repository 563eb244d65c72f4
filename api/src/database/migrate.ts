import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { postgresConnection } from './connection.js';
import { applyFunctions, readFunctions, selectPendingFunctions } from './sql-functions.js';

export interface SqlFolders {
  migrations: string;
  functions: string;
}

/** The build leaves SQL files in `src`. */
const FOLDERS: SqlFolders = {
  migrations: fileURLToPath(new URL('../../prisma/migrations', import.meta.url)),
  functions: fileURLToPath(new URL('../../src', import.meta.url)),
};
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
  /** Error message of a failed migration. */
  logs: string | null;
}

/**
 * Applies the migrations and records them like `prisma migrate deploy` (same table, checksum and lock), so that Prisma's
 * commands stay usable. Images need neither Prisma's CLI nor its engine. Then applies new and changed functions.
 * @returns the names of the applied migrations and functions in order
 * @throws Error if a migration or function fails, or a migration was changed after it was applied
 */
export async function migrate(database: MigratedDatabase | string, folders = FOLDERS): Promise<string[]> {
  return withClient(database, async (client) => {
    // The role may have a timeout for its statements (docs/operate.md#pgbouncer).
    await client.query('SET statement_timeout = 0');
    await client.query('SELECT pg_advisory_lock($1)', [PRISMA_LOCK]);
    await client.query(CREATE_TABLE);
    const migrations = await selectPending(client, readMigrations(folders.migrations));
    for (const migration of migrations) await apply(client, migration);
    const all = readFunctions(folders.functions);
    const functions = await selectPendingFunctions(client, all, { current: 'latest' });
    await applyFunctions(client, functions);
    return [...migrations, ...functions].map(({ name }) => name);
  });
}

/**
 * Lists the names of pending migrations and functions. Changes nothing and takes no lock.
 * @throws Error like migrate
 */
export async function listPendingMigrations(
  database: MigratedDatabase | string,
  folders = FOLDERS,
): Promise<string[]> {
  return withClient(database, async (client) => {
    const all = readMigrations(folders.migrations);
    const pending = (await exists(client, '_prisma_migrations'))
      ? await selectPending(client, all, { unfinished: 'pending' })
      : all;
    const functions = readFunctions(folders.functions);
    const pendingFunctions = (await exists(client, 'sql_functions'))
      ? await selectPendingFunctions(client, functions, { current: 'any' })
      : functions;
    return [...pending, ...pendingFunctions].map(({ name }) => name);
  });
}

/** Name of the newest migration of this version. */
export const findNewestMigration = (folder = FOLDERS.migrations): string =>
  listMigrationNames(folder).at(-1)!;

async function exists(client: pg.Client, table: string): Promise<boolean> {
  const { rows } = await client.query('SELECT WHERE to_regclass($1) IS NOT NULL', [table]);
  return rows.length > 0;
}

async function withClient<T>(
  database: MigratedDatabase | string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const { url, ca } = typeof database === 'string' ? { url: database, ca: undefined } : database;
  const client = new pg.Client({
    ...postgresConnection(url, ca),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A connection that breaks while it is idle must not end the program.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const listMigrationNames = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();

function readMigrations(folder: string): Migration[] {
  return listMigrationNames(folder).map((name) => {
    const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8');
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
  });
}

/**
 * Selects pending migrations. A failed migration has an error message: `migrate` retries it, and a waiting program throws. An
 * unfinished one without a message was started by Prisma's CLI: a waiting program waits for it. Under the lock, that program
 * has ended and the state is unknown, so `migrate` throws.
 */
async function selectPending(
  client: pg.Client,
  migrations: Migration[],
  { unfinished }: { unfinished: 'failed' | 'pending' } = { unfinished: 'failed' },
): Promise<Migration[]> {
  const { rows } = await client.query<Applied>(
    'SELECT migration_name, checksum, finished_at, logs FROM _prisma_migrations WHERE rolled_back_at IS NULL',
  );
  const applied = new Map(rows.map((row) => [row.migration_name, row]));
  return migrations.filter(({ name, checksum }) => {
    const before = applied.get(name);
    if (before?.finished_at === null) {
      if ((unfinished === 'pending') === (before.logs === null)) return true;
      if (before.logs !== null) throw new Error(`migration ${name} failed: ${before.logs}`);
      throw new Error(
        `migration ${name} was started by another program that did not finish it. Check whether it was applied. Then set ` +
          `finished_at (if it was) or rolled_back_at (if not) of its row in _prisma_migrations to now()`,
      );
    }
    if (before && before.checksum !== checksum) {
      throw new Error(
        `migration ${name} was changed after it was applied: another version of gwk created this database ` +
          '(on one machine, "make reset" deletes it)',
      );
    }
    return before === undefined;
  });
}

const MARK_ROLLED_BACK =
  'UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = $1 AND finished_at IS NULL AND rolled_back_at IS NULL';
const INSERT =
  'INSERT INTO _prisma_migrations (id, checksum, migration_name, logs, finished_at, applied_steps_count) VALUES ($1, $2, $3, $4, $5, $6)';

/**
 * Applies a migration and records it in one transaction, so an interrupted run leaves nothing behind and the next run starts
 * it again. A failed migration records its error for waiting programs.
 */
async function apply(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  const record = [randomUUID(), checksum, name];
  try {
    await client.query('BEGIN');
    await client.query(MARK_ROLLED_BACK, [name]);
    await client.query(sql);
    await client.query(INSERT, [...record, null, new Date(), 1]);
    await client.query('COMMIT');
  } catch (error) {
    const { message } = error as Error;
    await recordFailure(client, record, message).catch(() => undefined);
    throw new Error(`migration ${name}: ${message}`, { cause: error });
  }
}

async function recordFailure(client: pg.Client, record: string[], reason: string): Promise<void> {
  await client.query('ROLLBACK');
  await client.query(MARK_ROLLED_BACK, record.slice(-1));
  await client.query(INSERT, [...record, reason, null, 0]);
}

interface WaitOptions {
  timeoutMs: number;
  everyMs?: number;
}

const EVERY_MS = 1_000;
/** Postgres is unreachable, starting or stopping, or its name does not resolve yet. */
const UNAVAILABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  '57P01',
  '57P02',
  '57P03',
]);

class MigrationsMissing extends Error {}

/** Retries the work while Postgres is unavailable or lacks migrations, up to the timeout; throws all other errors at once. */
export async function retryWhileUnavailable<T>(
  { timeoutMs, everyMs = EVERY_MS }: WaitOptions,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isTemporary = UNAVAILABLE.has((error as { code?: string }).code ?? '');
      if (!(isTemporary || error instanceof MigrationsMissing) || performance.now() >= deadline) throw error;
    }
    await sleep(everyMs);
  }
}

/**
 * Waits until the database has every migration and function of this version. It may have newer ones: during an upgrade this
 * version also works with those of the next one.
 * @returns the time it took in milliseconds
 * @throws Error with the missing migrations after the timeout; at once if a migration failed
 */
export async function waitForMigrations(
  database: MigratedDatabase,
  wait: WaitOptions,
  folders?: SqlFolders,
): Promise<number> {
  const began = performance.now();
  await retryWhileUnavailable(wait, async () => {
    const pending = (await listPendingMigrations(database, folders)).join(', ');
    if (pending === '') return;
    throw new MigrationsMissing(`the database lacks ${pending} (is gwk migrate running, or did it fail?)`);
  });
  return Math.round(performance.now() - began);
}
