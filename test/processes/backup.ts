import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '@gwk/api/database/migrate';
import pg from 'pg';

/**
 * Backup and restore of the rows without the schema: every table in one snapshot while the gateway runs, and into a
 * database that is created again and migrated. Uses COPY, so that the tests need no Postgres client programs.
 * Operators use pg_dump and pg_restore: see test/processes/dump.test.ts.
 */
const MIGRATIONS = '_prisma_migrations';

async function within<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function tablesOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
     AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> $1 ORDER BY 1`,
    [MIGRATIONS],
  );
  return rows.map(({ name }) => name);
}

/** Postgres computes generated columns again, and COPY refuses values for them. */
async function listColumns(client: pg.Client, table: string): Promise<string> {
  const { rows } = await client.query<{ list: string }>(
    `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS list FROM pg_attribute
     WHERE attrelid = quote_ident($1)::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    [table],
  );
  return rows[0]!.list;
}

export function takeBackup(url: string, folder: string): Promise<string[]> {
  mkdirSync(folder, { recursive: true });
  return within(url, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const tables = await tablesOf(client);
    for (const table of tables) {
      const columns = await listColumns(client, table);
      await client.query(
        `COPY (SELECT ${columns} FROM "${table}") TO '${join(folder, table)}' (FORMAT binary)`,
      );
    }
    await client.query('COMMIT');
    return tables;
  });
}

/** Replaces the database. Connected clients are disconnected. */
export async function restoreBackup(url: string, folder: string, tables: readonly string[]): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const server = new URL(url);
  server.pathname = '/template1';
  await within(server.href, async (client) => {
    await client.query(`DROP DATABASE "${name}" WITH (FORCE)`);
    await client.query(`CREATE DATABASE "${name}" TEMPLATE template0`);
  });
  await migrate({ url, ca: undefined });
  await within(url, async (client) => {
    // Rows are restored table by table, so a row may be inserted before the one it references.
    await client.query(`SET session_replication_role = replica`);
    // The backup contains the rows that migrations insert, too.
    await client.query(`TRUNCATE ${tables.map((table) => `"${table}"`).join(', ')}`);
    for (const table of tables) {
      const columns = await listColumns(client, table);
      await client.query(`COPY "${table}" (${columns}) FROM '${join(folder, table)}' (FORMAT binary)`);
    }
  });
}
