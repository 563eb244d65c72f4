import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readServedVersion } from '@gwk/api/client-version/source';
import { BUNDLED } from '@gwk/core/client-version';
import pg from 'pg';
import { runGwkJson } from '../support/gateway/gwk-command.js';
import { createTestDatabase, type TestDatabase } from '../support/servers/database.js';
import { baseEnvironment, ROOT } from '../support/program.js';

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

/** Every `gwk network-version ...` in the runbooks and in docs/operate.md, with its page. */
const commands = [...readdirSync(RUNBOOKS).map((file) => `runbooks/${file}`), 'operate.md'].flatMap(
  (file) => {
    const page = readFileSync(join(ROOT, 'docs', file), 'utf8');
    return [...page.matchAll(/^ *kubectl .* -- gwk (.*\bnetwork-version .*)$/gm)].map(
      ([, command]) => [file, command!] as const,
    );
  },
);

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

test('the runbooks show, pin and unpin the client version', () => {
  const used = commands.map(([, command]) => /network-version (\w+)/.exec(command)![1]);
  expect(new Set(used)).toEqual(new Set(['show', 'pin', 'unpin']));
});

test.each(commands)('%s has a command that works: gwk %s', async (_, command) => {
  const args = command.replace('<you>', 'ana').replace('<version>', '2.3000.1044142122').split(' ');
  const env = { ...baseEnvironment(), DATABASE_URL: database.url };
  await expect(runGwkJson(args, env)).resolves.toMatchObject({ bundled: BUNDLED });
});

test('the script of GwkClientVersionUnread sends the request of a worker and prints the answer', async () => {
  const page = readFileSync(join(RUNBOOKS, 'GwkClientVersionUnread.md'), 'utf8');
  const [, script] = /\bnode -e '([^']*)'/.exec(page)!;
  const requests: IncomingHttpHeaders[] = [];
  const portal = createServer((req, res) => {
    requests.push(req.headers);
    res.writeHead(302, { location: 'https://login.example.com/' }).end();
  });
  await new Promise<void>((resolve) => portal.listen(0, '127.0.0.1', resolve));
  const { port } = portal.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const local = script!.replace('https://web.whatsapp.com', origin).replace('"https"', '"http"');
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', local]);
  const read = readServedVersion({ url: `${origin}/sw.js`, agents: null });
  await expect(read).rejects.toMatchObject({ fault: 'redirected_elsewhere' });
  portal.close();
  expect(requests[0]).toEqual(requests[1]);
  expect(stdout).toBe('302 https://login.example.com/\n');
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
