import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';

const api = fileURLToPath(new URL('../../../api', import.meta.url));
const prisma = fileURLToPath(new URL('../../../node_modules/.bin/prisma', import.meta.url));

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const EMPTY = 0;
const NOT_EMPTY = 2;

/** What Prisma would have to do to the migrated database so that it fits the schema. */
function difference(): { status: number | null; text: string } {
  const args = [
    'migrate',
    'diff',
    '--from-config-datasource',
    '--to-schema',
    'prisma/schema.prisma',
    '--exit-code',
  ];
  const done = spawnSync(prisma, args, {
    cwd: api,
    encoding: 'utf8',
    env: { ...process.env, DATABASE_URL: database.url },
  });
  return { status: done.status, text: done.stdout + done.stderr };
}

test('the migrations make what schema.prisma says, and a difference would be seen', async () => {
  const before = difference();
  expect(before).toEqual({ status: EMPTY, text: before.text });

  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    'ALTER TABLE messages ADD COLUMN forgotten integer; DROP INDEX IF EXISTS accounts_name_key',
  );
  await client.end();
  const after = difference();
  expect(after).toEqual({
    status: NOT_EMPTY,
    text: expect.stringMatching(/`messages` table[^]*forgotten/) as string,
  });
}, 60_000);
