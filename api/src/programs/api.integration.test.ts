import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProblemBody } from '@gwk/core/problems/problems';
import { WrongEncryptionKey } from '../database/key-check.js';
import { until } from '@gwk/test/support/wait';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { upload } from '@gwk/test/support/api/upload';

/** A shared API. Each test starts and stops its own replicas beside it. */
let api: TestApi;

beforeAll(async () => {
  api = await sharedApi();
});

test('refuses to start with another encryption key', async () => {
  const other = { GWK_ENCRYPTION_KEYS: Buffer.alloc(32, 7).toString('base64') };
  await expect(api.addReplica(other)).rejects.toThrow(WrongEncryptionKey);
});

test('refuses to start with a pool larger than Postgres allows', async () => {
  const role = `narrow_${randomBytes(4).toString('hex')}`;
  const url = new URL(api.options.databaseUrl);
  await api.db.$executeRawUnsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'pw' CONNECTION LIMIT 3`);
  await api.db.$executeRawUnsafe(`GRANT SELECT, INSERT ON key_checks TO ${role}`);
  url.username = role;
  url.password = 'pw';
  const narrow = { DATABASE_URL: url.href, GWK_API_DATABASE_POOL: '4' };
  await expect(api.addReplica(narrow)).rejects.toThrow(/limit of the role.*GWK_API_DATABASE_POOL is 4/);
  await api.db.$executeRawUnsafe(`DROP OWNED BY ${role}`);
  await api.db.$executeRawUnsafe(`DROP ROLE ${role}`);
});

test('accepts a new client while idle connections use up the limit', async () => {
  const { key } = await api.key(await api.account());
  const replica = await api.addReplica({ GWK_API_MAX_CONNECTIONS: '10' });
  const idle = Array.from({ length: 10 }, () => connect(replica.port, '127.0.0.1'));
  for (const socket of idle) socket.on('error', () => undefined);
  await Promise.all(
    idle.map(async (socket) => {
      socket.write('GET /livez HTTP/1.1\r\nHost: gwk\r\n\r\n');
      await once(socket, 'data');
    }),
  );
  const client = api.client(key, replica.port);
  const answer = await until(() => client.call('GET', '/v1/instances'), { what: 'a new client is served' });
  expect(answer.status).toBe(200);
  for (const socket of idle) socket.destroy();
});

test('reports EADDRINUSE for a port in use', async () => {
  await expect(api.addReplica({ GWK_API_PORT: String(api.port) })).rejects.toThrow(/EADDRINUSE/);
});

describe('stopping a busy process, whose stop timers fire before its next read,', () => {
  const STEP_MS = 20;
  const STEPS = { GWK_API_STOP_UNREADY_MS: String(STEP_MS), GWK_API_STOP_IDLE_MS: String(STEP_MS) };
  /** Blocks the event loop until timers are due. */
  const beBusy = (milliseconds: number) => {
    const end = performance.now() + milliseconds;
    while (performance.now() < end);
  };
  const REQUEST = 'GET /livez HTTP/1.1\r\nHost: gwk\r\n\r\n';

  function collectAnswer(socket: Socket): { text: string; closed: Promise<void> } {
    const received = {
      text: '',
      closed: new Promise<void>((resolve) => socket.on('close', () => resolve())),
    };
    socket.on('data', (chunk) => (received.text += chunk.toString()));
    socket.on('error', (error) => (received.text += error.message));
    return received;
  }

  test('serves a client that connects as listening ends', async () => {
    const replica = await api.addReplica(STEPS);
    const stopped = replica.stop();
    beBusy(3 * STEP_MS);
    const socket = connect(replica.port, '127.0.0.1');
    const received = collectAnswer(socket);
    socket.write(REQUEST);
    await Promise.all([stopped, received.closed]);
    expect(received.text).toMatch(/^HTTP\/1.1 200/);
  });

  test('serves a request that arrives as idle connections are closed', async () => {
    const replica = await api.addReplica(STEPS);
    const socket = connect(replica.port, '127.0.0.1');
    const received = collectAnswer(socket);
    socket.write(REQUEST);
    await until(() => Promise.resolve(/ok/.test(received.text)), { what: 'the first answer' });
    received.text = '';
    const stopped = replica.stop();
    // Timers of the same time and duration fire in order, with their immediates: right after listening has
    // ended.
    await sleep(STEP_MS);
    await new Promise((resolve) => setImmediate(resolve));
    beBusy(3 * STEP_MS);
    socket.write(REQUEST);
    await Promise.all([stopped, received.closed]);
    expect(received.text).toMatch(/^HTTP\/1.1 200/);
  });
});

test('an unwritable media store is reported and affects uploads only', async () => {
  const { key } = await api.key(await api.account());
  // A file in place of a folder.
  const folder = await mkdtemp(join(tmpdir(), 'gwk-media-'));
  const GWK_MEDIA_FOLDER = join(folder, 'a-file');
  await writeFile(GWK_MEDIA_FOLDER, '');
  const replica = await api.addReplica({ GWK_MEDIA_FOLDER });
  const base = `http://127.0.0.1:${replica.port}`;
  const ready = await fetch(`${base}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toMatchObject({
    status: 'ok',
    checks: { postgres: 'ok', media: 'not-writable' },
  });
  expect(await (await fetch(`${base}/metrics`)).text()).toMatch(/^gwk_media_store_writable 0$/m);
  const client = api.client(key, replica.port);
  expect((await client.call('GET', '/v1/instances')).status).toBe(200);
  const answer = await upload<ProblemBody>(client, [{ name: 'file', filename: 'a.txt', content: 'a file' }]);
  expect([answer.status, answer.body.type.split('/').at(-1)]).toEqual([500, 'internal-error']);
  await replica.stop();
  await rm(folder, { recursive: true });
});
