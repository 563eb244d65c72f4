import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.js';

const api = fileURLToPath(new URL('../../../api', import.meta.url));
const prisma = fileURLToPath(new URL('../../../node_modules/.bin/prisma', import.meta.url));
/** Needs no download. */
const engine = fileURLToPath(new URL('../../support/prisma/schema-engine.js', import.meta.url));

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const EMPTY = 0;
const NOT_EMPTY = 2;

function runPrisma(...args: string[]): { status: number | null; text: string } {
  const env = { ...process.env, DATABASE_URL: database.url, PRISMA_SCHEMA_ENGINE_BINARY: engine };
  const done = spawnSync(prisma, args, { cwd: api, encoding: 'utf8', env });
  return { status: done.status, text: done.stdout + done.stderr };
}

/** The changes that Prisma would make to the migrated database to match the schema. */
const difference = () =>
  runPrisma(
    'migrate',
    'diff',
    '--from-config-datasource',
    '--to-schema',
    'prisma/schema.prisma',
    '--exit-code',
  );

test('Prisma finds no pending migration after our own runner', () => {
  expect(runPrisma('migrate', 'status').text).toContain('Database schema is up to date!');
});

test('the migrations match schema.prisma, and the check detects a difference', async () => {
  const before = difference();
  expect(before).toEqual({ status: EMPTY, text: before.text });

  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('ALTER TABLE messages ADD COLUMN forgotten integer; DROP INDEX api_keys_account_id_idx');
  await client.end();
  const after = difference();
  expect(after).toEqual({
    status: NOT_EMPTY,
    text: expect.stringMatching(/`messages` table[^]*forgotten/) as string,
  });
});
