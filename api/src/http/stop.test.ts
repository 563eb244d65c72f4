import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MediaOut } from '@gwk/core/resources/media';
import { createTestDatabase, type TestDatabase } from '@gwk/test/harness/database';
import { redisPrefix, redisUrl } from '@gwk/test/harness/servers';
import { TestApi } from '../testing/api.js';
import { noise, upload } from '../testing/upload.js';

/** Connections that are at work when the silent ones are closed, and are kept alive by their clients. */
let database: TestDatabase;
let api: TestApi;
let file: string;
const SIZE = 20_000_000;
beforeAll(async () => {
  database = await createTestDatabase();
  api = await TestApi.start({ databaseUrl: database.url, redisUrl: redisUrl(), redisPrefix: redisPrefix() });
  const client = await api.clientOf(await api.account());
  const parts = [{ name: 'file', filename: 'a.bin', content: noise(SIZE) }];
  const { pathname, search } = new URL((await upload<MediaOut>(client, parts)).body.url!);
  file = pathname + search;
});
afterAll(async () => {
  await api.stop();
  await database.drop();
});

async function open(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

/** When the silent connections have been closed. */
const SILENT_CLOSED_MS = 1_300;

test.each(['/readyz', '/livez', 'a download'])(
  'what is answered late says that its connection ends: %s',
  async (path) => {
    const replica = await api.addReplica();
    const asked = path === 'a download' ? file : path;
    const socket = await open(replica.port, `GET ${asked} HTTP/1.1\r\nHost: gwk\r\n`);
    await sleep(200);
    const stopped = replica.stop();
    await sleep(SILENT_CLOSED_MS);
    socket.write('\r\n');
    const [head] = (await once(socket, 'data')) as [Buffer];
    socket.resume();
    expect(head.toString('latin1').split('\r\n\r\n')[0]).toMatch(/^connection: close$/im);
    await stopped;
  },
  20_000,
);

test('a download that began before ends whole, and its connection holds nobody up', async () => {
  const replica = await api.addReplica();
  const socket = await open(replica.port, `GET ${file} HTTP/1.1\r\nHost: gwk\r\n\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  let size = first.length - (first.indexOf('\r\n\r\n') + 4);
  const stopped = replica.stop();
  await sleep(SILENT_CLOSED_MS);
  const began = performance.now();
  socket.on('data', (chunk: Buffer) => (size += chunk.length)).resume();
  await stopped;
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(size).toBe(SIZE);
}, 40_000);
