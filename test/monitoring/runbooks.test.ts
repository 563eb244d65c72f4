import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/servers/database.js';
import { ROOT } from '../support/program.js';

const RUNBOOKS = join(ROOT, 'docs/runbooks');

/** Each `node -e '...'` of the pages that asks for readiness, by its page. */
const questions = readdirSync(RUNBOOKS).flatMap((file) => {
  const page = readFileSync(join(RUNBOOKS, file), 'utf8');
  return [...page.matchAll(/\bnode -e '([^']*readyz[^']*)'/g)].map(([, script]) => [file, script!] as const);
});

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

describe('pages ask a pod that is not ready', () => {
  const checks = JSON.stringify({ postgres: 'unreachable', process: 'ok' });
  const pod = createServer((req, res) => res.writeHead(req.url === '/readyz' ? 503 : 404).end(checks));
  beforeAll(() => new Promise<void>((resolve) => pod.listen(0, '127.0.0.1', resolve)));
  afterAll(() => pod.close());

  test('three at least', () => {
    expect(questions.map(([file]) => file)).toEqual(
      expect.arrayContaining(['GwkApiErrors.md', 'GwkApiDown.md', 'GwkMediaStoreUnavailable.md']),
    );
  });

  test.each(questions)('%s: and are told which check is red', async (_, script) => {
    const asked = script.replace('localhost:8080', `localhost:${(pod.address() as AddressInfo).port}`);
    expect(asked).not.toBe(script);
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', asked]);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(checks));
  });
});
