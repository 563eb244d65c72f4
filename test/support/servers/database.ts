import { randomBytes } from 'node:crypto';
import { migrate } from '@gwk/api/database/migrate';
import pg from 'pg';
import { readFormerFunctions } from './former-functions.js';
import { postgresUrl } from './servers.js';

const TEMPLATE = 'gwk_template';

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/** Creates the migrated template database, once per run. All test databases are copies of it. */
export async function createTemplateDatabase(serverUrl: string): Promise<void> {
  await query(serverUrl, `CREATE DATABASE ${TEMPLATE}`);
  const url = databaseUrl(serverUrl, TEMPLATE);
  await migrate(url);
  if (process.env['TEST_FORMER_FUNCTIONS']) await query(url, readFormerFunctions() ?? '');
}

/** Creates an empty migrated database for one test file. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return copy(TEMPLATE);
}

/** A database without tables. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return copy('template1');
}

async function copy(template: string): Promise<TestDatabase> {
  const server = postgresUrl();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await query(server, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    url: databaseUrl(server, name),
    drop: async () => {
      await query(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/**
 * Runs statements on a new connection, several of them in one transaction.
 * @returns the rows of a single statement
 */
export async function query<T extends pg.QueryResultRow>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}
