import { createLogger } from '@gwk/core/process/log';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { redisPrefix, redisUrl } from '@gwk/test/support/servers/servers';
import { until } from '@gwk/test/support/wait';
import { closeRedis, openRedis, type Redis } from '../platform/redis.js';
import { RateLimiter } from './rate-limiter.js';

const log = createLogger('test', 'error');
let redis: Redis;
let unreachable: Redis;
let keys: RedisKeys;
/** Ten seconds after the start of a minute. */
const now = () => 1_800_000_010_000 - (1_800_000_010_000 % 60_000) + 10_000;
/** A timeout that a slow machine does not reach where the count itself is tested. */
const LONG_TIMEOUT_MS = 30_000;

beforeEach(async () => {
  redis = openRedis({ url: redisUrl(), program: 'test', log });
  unreachable = openRedis({
    url: 'redis://127.0.0.1:1/',
    program: 'test',
    log: createLogger('test', 'silent'),
  });
  keys = new RedisKeys(redisPrefix());
  await new Promise((resolve) => redis.once('ready', resolve));
});
afterEach(() => {
  closeRedis(redis);
  closeRedis(unreachable);
});

const countMany = (limiter: RateLimiter, count: number, limit: number) =>
  Promise.all(Array.from({ length: count }, async () => limiter.count('key', limit)));

test('counts concurrent requests one by one, in order', async () => {
  const results = await countMany(new RateLimiter(redis, keys, now, LONG_TIMEOUT_MS), 5, 3);
  expect(results.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    [true, 2],
    [true, 1],
    [true, 0],
    [false, 0],
    [false, 0],
  ]);
  expect(results[0]).toMatchObject({ limit: 3, reset: 50 });
});

test('shares the count between replicas', async () => {
  const [one, two] = [1, 2].map(() => new RateLimiter(redis, keys, now, LONG_TIMEOUT_MS)) as [
    RateLimiter,
    RateLimiter,
  ];
  await countMany(one, 4, 10);
  expect((await countMany(two, 1, 10))[0]).toMatchObject({ remaining: 5 });
});

test('answers without waiting for Redis far from the limit, but still counts in Redis', async () => {
  const [one, two] = [1, 2].map(() => new RateLimiter(redis, keys, now, LONG_TIMEOUT_MS)) as [
    RateLimiter,
    RateLimiter,
  ];
  expect((await countMany(one, 1, 100))[0]).toMatchObject({ remaining: 99 });
  const atOnce = Array.from({ length: 60 }, () => one.count('key', 100));
  const isAtOnce = atOnce.map((result) => !(result instanceof Promise));
  expect(isAtOnce).toEqual([...Array<boolean>(49).fill(true), ...Array<boolean>(11).fill(false)]);
  const results = await Promise.all(atOnce.map(async (result) => result));
  expect(results.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 60 }, (_, i) => 98 - i));
  expect((await countMany(two, 1, 100))[0]).toMatchObject({ remaining: 38 });
});

test('adds requests allowed without waiting to the count in Redis a moment later', async () => {
  const limiter = new RateLimiter(redis, keys, now, LONG_TIMEOUT_MS);
  await countMany(limiter, 1, 100);
  const key = keys.rateLimit('key', Math.floor(now() / 60_000));
  await countMany(limiter, 10, 100);
  await until(async () => (await redis.get(key)) === '11', { what: 'the count is in Redis' });
});

test('asks Redis again when its last answer is older than a second', async () => {
  const limiter = new RateLimiter(redis, keys, now, LONG_TIMEOUT_MS);
  await countMany(limiter, 1, 100);
  expect(limiter.count('key', 100)).not.toBeInstanceOf(Promise);
  const present = performance.now();
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => present + 1_001);
  try {
    expect(limiter.count('key', 100)).toBeInstanceOf(Promise);
  } finally {
    clock.mockRestore();
  }
});

test('starts a new count each minute, and lets old keys expire', async () => {
  let time = now();
  const limiter = new RateLimiter(redis, keys, () => time, LONG_TIMEOUT_MS);
  await countMany(limiter, 3, 3);
  expect((await countMany(limiter, 1, 3))[0]).toMatchObject({ allowed: false });
  const key = keys.rateLimit('key', Math.floor(time / 60_000));
  expect(await redis.ttl(key)).toBeGreaterThan(100);
  time += 60_000;
  expect((await countMany(limiter, 1, 3))[0]).toMatchObject({ allowed: true, remaining: 2 });
});

test('counts on its own while Redis is unavailable', async () => {
  const limiter = new RateLimiter(unreachable, keys, now);
  await countMany(limiter, 2, 3);
  const results = await countMany(limiter, 2, 3);
  expect(results.map(({ allowed }) => allowed)).toEqual([true, false]);
});
