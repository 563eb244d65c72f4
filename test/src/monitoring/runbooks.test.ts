import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ROOT } from '../harness/program.js';

const RUNBOOKS = join(ROOT, 'docs/runbooks');

/** Each `psql "$DATABASE_URL" -c ...` of the pages, by its page. */
const queries = readdirSync(RUNBOOKS).flatMap((file) => {
  const page = readFileSync(join(RUNBOOKS, file), 'utf8');
  return [...page.matchAll(/^psql "\$DATABASE_URL" -c (["'])(.*?)\1/gm)].map(
    ([, , sql]) => [file, sql!] as const,
  );
});

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

test('pages ask Postgres', () => {
  expect(queries.length).toBeGreaterThan(10);
});

test.each(queries)('%s asks Postgres what it can answer: %s', async (_, sql) => {
  await expect(client.query(sql)).resolves.toMatchObject({ command: 'SELECT' });
});
