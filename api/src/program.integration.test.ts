import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProblemBody } from '@gwk/core/problems';
import { createTestDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import { redisPrefix, redisUrl } from '@gwk/test/support/servers/servers';
import { RED_MS, SILENCE_MS } from './http/listener.js';
import { WrongSealingKey } from './key-check.js';
import { until } from '@gwk/test/support/wait';
import { TestApi } from '@gwk/test/support/api/test-api';
import { upload } from '@gwk/test/support/api/upload';

let database: TestDatabase;
let api: TestApi;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await TestApi.start({ databaseUrl: database.url, redisUrl: redisUrl(), redisPrefix: redisPrefix() });
});
afterAll(async () => {
  await api.stop();
  await database.drop();
});

test('a program with another sealing key does not start', async () => {
  const other = { GWK_SEALING_KEYS: Buffer.alloc(32, 7).toString('base64') };
  await expect(api.addReplica(other)).rejects.toThrow(WrongSealingKey);
});

test('a program whose pool Postgres can never serve does not start', async () => {
  const role = `narrow_${randomBytes(4).toString('hex')}`;
  const url = new URL(database.url);
  await api.db.$executeRawUnsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'pw' CONNECTION LIMIT 3`);
  await api.db.$executeRawUnsafe(`GRANT SELECT, INSERT ON key_checks TO ${role}`);
  url.username = role;
  url.password = 'pw';
  const narrow = { DATABASE_URL: url.href, GWK_API_DATABASE_POOL: '4' };
  await expect(api.addReplica(narrow)).rejects.toThrow(/limit of the role.*GWK_API_DATABASE_POOL asks for 4/);
  await api.db.$executeRawUnsafe(`DROP OWNED BY ${role}`);
  await api.db.$executeRawUnsafe(`DROP ROLE ${role}`);
});

test('who holds every connection in silence keeps nobody out for long', async () => {
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
  const answer = await until(() => client.call('GET', '/v1/instances'), { what: 'another is served' });
  expect(answer.status).toBe(200);
  for (const socket of idle) socket.destroy();
});

test('a port that is taken is said so', async () => {
  await expect(api.addReplica({ GWK_API_PORT: String(api.port) })).rejects.toThrow(/EADDRINUSE/);
});

test('a stop under load loses no request: each is answered, or was never taken', async () => {
  const { key } = await api.key(await api.account());
  const replica = await api.addReplica();
  // A connection for each: one that is kept beside may be closed for its silence in the moment in which it is taken.
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const seen = { answered: 0, refused: 0, lost: 0 };
  const call = () =>
    new Promise<void>((resolve) => {
      const exchange = request(
        {
          host: '127.0.0.1',
          port: replica.port,
          path: '/v1/messages',
          agent,
          headers: { authorization: `Bearer ${key}` },
        },
        (response) => {
          response.resume();
          response.on('end', () => {
            seen[response.statusCode === 200 ? 'answered' : 'lost']++;
            resolve();
          });
        },
      );
      exchange.on('error', (error: NodeJS.ErrnoException) => {
        seen[error.code === 'ECONNREFUSED' ? 'refused' : 'lost']++;
        resolve();
      });
      exchange.end();
    });
  let going = true;
  const clients = Array.from({ length: 16 }, async () => {
    while (going) await call();
  });
  await sleep(300);
  const answeredBefore = seen.answered;
  await replica.stop();
  await sleep(50);
  going = false;
  await Promise.all(clients);
  agent.destroy();
  expect(seen.lost).toBe(0);
  expect(seen.refused).toBeGreaterThan(0);
  expect(seen.answered).toBeGreaterThan(answeredBefore);
}, 20_000);

describe('a stop of a busy process, which comes to the timers of its steps before it reads again,', () => {
  /** Nothing is read meanwhile, and timers come due. */
  const beBusy = (milliseconds: number) => {
    const end = performance.now() + milliseconds;
    while (performance.now() < end);
  };
  const ASK = 'GET /livez HTTP/1.1\r\nHost: gwk\r\n\r\n';

  function listenTo(socket: Socket): { text: string; closed: Promise<void> } {
    const heard = { text: '', closed: new Promise<void>((resolve) => socket.on('close', () => resolve())) };
    socket.on('data', (chunk) => (heard.text += chunk.toString()));
    socket.on('error', (error) => (heard.text += error.message));
    return heard;
  }

  test('takes who connects when its listening ends', async () => {
    const replica = await api.addReplica();
    const stopped = replica.stop();
    beBusy(RED_MS + 150);
    const socket = connect(replica.port, '127.0.0.1');
    const heard = listenTo(socket);
    socket.write(ASK);
    await Promise.all([stopped, heard.closed]);
    expect(heard.text).toMatch(/^HTTP\/1.1 200/);
  });

  test('reads what is said when silent connections are closed', async () => {
    const replica = await api.addReplica();
    const socket = connect(replica.port, '127.0.0.1');
    const heard = listenTo(socket);
    socket.write(ASK);
    await until(() => Promise.resolve(/ok/.test(heard.text)), { what: 'it has said something before' });
    heard.text = '';
    const stopped = replica.stop();
    // Timers of one moment and one duration fire together, in their order, and so do the immediates that they make: right
    // after its listening has ended.
    await sleep(RED_MS);
    await new Promise((resolve) => setImmediate(resolve));
    beBusy(SILENCE_MS + 150);
    socket.write(ASK);
    await Promise.all([stopped, heard.closed]);
    expect(heard.text).toMatch(/^HTTP\/1.1 200/);
  });
});

test('a store of files that cannot be written to is told, and takes nothing else away', async () => {
  const { key } = await api.key(await api.account());
  // A file where a folder should be.
  const GWK_MEDIA_FOLDER = join(api.mediaFolder, 'a-file');
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
});

test('a silent connection does not hold a stop up', async () => {
  const { key } = await api.key(await api.account());
  const replica = await api.addReplica();
  const idle = api.client(key, replica.port);
  expect((await idle.call('GET', '/v1/instances')).status).toBe(200);
  const before = performance.now();
  await replica.stop();
  // Such a connection may last 75 s, and requests under way are waited for 25 s.
  expect(performance.now() - before).toBeLessThan(12_000);
});
