import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@gwk/core/log';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { postgresUrl, startTestRedis } from '@gwk/test/support/servers/servers';
import { until } from '@gwk/test/support/wait';
import { Registry } from 'prom-client';
import { openDatabase, type Database } from '../database/database.js';
import { closeRedis, openRedis, type Redis } from '../platform/redis.js';
import { storeMetrics } from './store-metrics.js';

let folder: string;
let server: Awaited<ReturnType<typeof startTestRedis>>;
let redis: Redis;
let db: Database;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwk-stores-'));
  server = await startTestRedis(folder);
  redis = openRedis({ url: server.url, program: 'test', log: createLogger('test', 'silent') });
  db = openDatabase({ url: postgresUrl(), poolSize: 1, program: 'test' });
  await until(() => Promise.resolve(redis.isReady), { what: 'Redis is there' });
});
afterAll(async () => {
  closeRedis(redis);
  await db.$disconnect();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function told(name: string, writable = () => Promise.resolve(true)): Promise<number> {
  const registry = new Registry();
  storeMetrics(registry, { db, redis, redisKeys: new RedisKeys('gwk:'), media: { watch: { writable } } });
  const text = await registry.metrics();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

/** A write that was answered late is not told. */
const timed = () =>
  until(async () => (await told('gwk_redis_ping_seconds')) < 1, {
    what: 'a write is timed, and takes no second',
  });

describe('Redis', () => {
  test('is timed by a write that leaves nothing', async () => {
    await timed();
    await until(async () => (await redis.dbSize()) === 0, { what: 'the key has gone' });
  });

  test.each([
    ['is full', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
    ['is a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
  ])('is away where it answers and takes no writes: it %s', async (_, refuse, take) => {
    await redis.sendCommand(refuse);
    expect(await redis.ping()).toBe('PONG');
    expect(await told('gwk_redis_ping_seconds')).toBeNaN();
    await redis.sendCommand(take);
    await timed();
  });
});

test('a store of files that hangs at the first look keeps nothing else from being told for longer than 4 s', async () => {
  const start = setTimeout;
  const sooner = (work: () => void, ms?: number) => start(work, ms === 4_000 ? 0 : ms);
  const timers = jest.spyOn(globalThis, 'setTimeout').mockImplementation(sooner);
  expect(await told('gwk_media_store_writable', () => new Promise(() => undefined))).toBeNaN();
  timers.mockRestore();
});
