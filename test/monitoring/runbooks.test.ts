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

/** Every `node -e '...'` in the runbooks that reads /readyz, with its page. */
const scripts = readdirSync(RUNBOOKS).flatMap((file) => {
  const page = readFileSync(join(RUNBOOKS, file), 'utf8');
  return [...page.matchAll(/\bnode -e '([^']*readyz[^']*)'/g)].map(([, script]) => [file, script!] as const);
});

/** Every `psql "$DATABASE_URL" -c ...` in the runbooks, with its page. */
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

test('runbooks contain SQL queries', () => {
  expect(queries.length).toBeGreaterThan(10);
});

test.each(queries)('%s has a query that Postgres accepts: %s', async (_, sql) => {
  await expect(client.query(sql)).resolves.toMatchObject({ command: 'SELECT' });
});

describe('readiness scripts against a pod that is not ready', () => {
  const checks = JSON.stringify({ postgres: 'unreachable', process: 'ok' });
  const pod = createServer((req, res) => res.writeHead(req.url === '/readyz' ? 503 : 404).end(checks));
  beforeAll(() => new Promise<void>((resolve) => pod.listen(0, '127.0.0.1', resolve)));
  afterAll(() => pod.close());

  test('three runbooks have one', () => {
    expect(scripts.map(([file]) => file)).toEqual(
      expect.arrayContaining(['GwkApiErrors.md', 'GwkApiDown.md', 'GwkMediaStoreUnavailable.md']),
    );
  });

  test.each(scripts)('%s prints the failing check', async (_, script) => {
    const local = script.replace('localhost:8080', `localhost:${(pod.address() as AddressInfo).port}`);
    expect(local).not.toBe(script);
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', local]);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(checks));
  });
});
