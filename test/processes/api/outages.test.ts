import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realTime, until } from '../../support/wait.js';
import { listProcesses } from '../../support/processes.js';
import { startTestPostgres, startTestRedis } from '../../support/servers/servers.js';
import { migrate } from '@gwk/api/database/migrate';
import { TestApi, type TestAccount } from '../../support/api/test-api.js';
import type { ApiClient } from '../../support/api/client.js';

/** Its own servers, which the tests stop and freeze. */
type Server = Awaited<ReturnType<typeof startTestPostgres>>;

let folder: string;
let postgres: Server;
let redis: Server;
let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let instance: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwk-outages-'));
  [postgres, redis] = await Promise.all([startTestPostgres(folder), startTestRedis(folder)]);
  await migrate(postgres.url);
  api = await TestApi.start({ databaseUrl: postgres.url, redisUrl: redis.url, redisPrefix: 'gwk:' });
  account = await api.account();
  client = await api.clientOf(account);
  const made = await client.call<{ id: string }>('POST', '/v1/instances', {
    body: { name: 'x', kind: 'sandbox' },
  });
  instance = made.body.id;
  await until(async () => (await readiness()).checks.redis === 'ok', { what: 'Redis is reachable' });
  // The first response of each kind makes the client read OpenAPI, which takes a while.
  for (const ask of [send, () => client.call('GET', '/v1/messages')]) await ask();
});
afterAll(async () => {
  await api.stop();
  await Promise.all([postgres.stop(), redis.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

const send = () =>
  client.call('POST', '/v1/messages', {
    body: { instance_id: instance, to: '5511987654321', type: 'text', text: { body: 'oi' } },
  });
const codeOf = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const rateOf = ({ headers }: { headers: IncomingHttpHeaders }) => ({
  remaining: Number(headers['ratelimit-remaining']),
  reset: Number(headers['ratelimit-reset']),
});
async function readiness() {
  const response = await fetch(`http://127.0.0.1:${api.port}/readyz`);
  return (await response.json()) as { status: string; checks: Record<string, string> };
}
const ready = async () =>
  /^gwk_ready (.*)$/m.exec(await (await fetch(`http://127.0.0.1:${api.port}/metrics`)).text())?.[1];
async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const before = performance.now();
  const result = await work();
  return [result, performance.now() - before];
}

/** A request that waits for a hanging Redis waits 3 s, until the idle connection is closed. */
const NOT_WAITED_MS = realTime(2_500);

describe.each([
  ['hangs', 'SIGSTOP'],
  ['is down', 'SIGKILL'],
] as const)('while Redis %s', (_, signal) => {
  beforeAll(() => signalAll(redis, signal));
  afterAll(async () => {
    if (signal === 'SIGSTOP') signalAll(redis, 'SIGCONT');
    await until(async () => signal === 'SIGKILL' || (await readiness()).checks.redis === 'ok', {
      what: 'Redis is reachable again',
    });
  });

  test('accepts messages, serves reads and counts the rate limit', async () => {
    for (let i = 0; i < 3; i++) {
      const [sent, took] = await timed(send);
      expect([sent.status, took < NOT_WAITED_MS]).toEqual([202, true]);
      const [read, tookReading] = await timed(() => client.call('GET', '/v1/messages'));
      expect([read.status, tookReading < NOT_WAITED_MS]).toEqual([200, true]);
      const [first, second] = [sent, read].map(rateOf);
      // The remaining seconds increase only in a new window, which starts with the full limit.
      const isSameWindow = second!.reset <= first!.reset;
      expect(second!.remaining).toBeLessThan(isSameWindow ? first!.remaining : 1_000_000);
    }
  });

  test('shows an instance without `live`, and stays ready', async () => {
    const [shown, took] = await timed(() => client.call('GET', `/v1/instances/${instance}`));
    expect([shown.status, took < NOT_WAITED_MS, 'live' in shown.body]).toEqual([200, true, false]);
    await until(async () => (await readiness()).checks.redis === 'unreachable', {
      what: 'readiness reports the loss of Redis',
    });
    expect(await readiness()).toMatchObject({ status: 'ok', checks: { postgres: 'ok' } });
  });

  test('starts a process', async () => {
    const { port } = await api.addReplica();
    const other = api.client((await api.key(account)).key, port);
    expect((await other.call('GET', '/v1/instances')).status).toBe(200);
  });
});

describe('while Postgres hangs', () => {
  beforeAll(() => signalAll(postgres, 'SIGSTOP'));
  afterAll(() => signalAll(postgres, 'SIGCONT'));

  /** A request should wait at most 5 s. Without a limit it would wait as long as Postgres hangs. */
  const IN_TIME_MS = realTime(10_000);

  test('answers every request with 500 in time, and is not ready', async () => {
    const answers = await Promise.all([
      timed(send),
      timed(() => client.call('GET', '/v1/messages')),
      timed(() => client.call('POST', '/v1/instances', { body: { name: 'y' } })),
      timed(() => api.client('gwk_live_' + 'x'.repeat(43)).call('GET', '/v1/messages')),
    ]);
    for (const [answer, took] of answers) {
      expect([answer.status, codeOf(answer), took < IN_TIME_MS]).toEqual([500, 'internal-error', true]);
      expect(answer.headers['ratelimit-limit']).toBeDefined();
      expect(answer.headers['retry-after']).toBe('1');
    }
    expect(await readiness()).toMatchObject({ status: 'unavailable', checks: { postgres: 'unreachable' } });
  });

  test('reports gwk_ready 0 in time', async () => {
    const [value, took] = await timed(ready);
    expect([value, took < IN_TIME_MS]).toEqual(['0', true]);
  });
});

test('serves again after Postgres continues', async () => {
  await until(async () => (await send()).status === 202, { what: 'messages are accepted' });
  expect(await readiness()).toMatchObject({ status: 'ok' });
  expect(await ready()).toBe('1');
});

/** A server may have several processes: a launcher, a listener and one per connection. */
function signalAll(server: Server, signal: NodeJS.Signals): void {
  const all = listProcesses();
  const family = new Set([server.process.pid]);
  for (let size = 0; size !== family.size;) {
    size = family.size;
    for (const { pid, parent } of all) if (family.has(parent)) family.add(pid);
  }
  for (const pid of family) process.kill(pid, signal);
}
