import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@gwk/core/process/log';
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
  await until(() => Promise.resolve(redis.isReady), { what: 'Redis is ready' });
});
afterAll(async () => {
  closeRedis(redis);
  await db.$disconnect();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function readGauge(name: string, writable = () => Promise.resolve(true)): Promise<number> {
  const registry = new Registry();
  storeMetrics(registry, { db, redis, redisKeys: new RedisKeys('gwk:'), media: { watch: { writable } } });
  const text = await registry.metrics();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

/** A late answer leaves the gauge without a value. */
const untilTimed = () =>
  until(async () => (await readGauge('gwk_redis_ping_seconds')) < 1, {
    what: 'a write takes less than 1 s',
  });

describe('Redis', () => {
  test('is timed by a write whose key expires', async () => {
    await untilTimed();
    await until(async () => (await redis.dbSize()) === 0, { what: 'the key has expired' });
  });

  test('has a memory ratio while it has a limit', async () => {
    await redis.sendCommand(['CONFIG', 'SET', 'maxmemory', '1gb']);
    const ratio = await readGauge('gwk_redis_memory_ratio');
    expect(ratio).toBeGreaterThan(0);
    expect(ratio).toBeLessThan(0.5);
    await redis.sendCommand(['CONFIG', 'SET', 'maxmemory', '0']);
    expect(await readGauge('gwk_redis_memory_ratio')).toBeNaN();
  });

  test.each([
    ['is full', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
    ['is a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
  ])('is unavailable if it answers but rejects writes: it %s', async (_, rejectWrites, acceptWrites) => {
    await redis.sendCommand(rejectWrites);
    expect(await redis.ping()).toBe('PONG');
    expect(await readGauge('gwk_redis_ping_seconds')).toBeNaN();
    await redis.sendCommand(acceptWrites);
    await untilTimed();
  });
});

test('a media store that hangs in the first check delays /metrics by at most 4 s', async () => {
  const start = setTimeout;
  const shorten = (work: () => void, ms?: number) => start(work, ms === 4_000 ? 0 : ms);
  const timers = jest.spyOn(globalThis, 'setTimeout').mockImplementation(shorten);
  expect(await readGauge('gwk_media_store_writable', () => new Promise(() => undefined))).toBeNaN();
  timers.mockRestore();
});
