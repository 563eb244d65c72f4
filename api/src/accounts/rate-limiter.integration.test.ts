import { createLogger } from '@gwk/core/log';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { redisPrefix, redisUrl } from '@gwk/test/support/servers/servers';
import { until } from '@gwk/test/support/wait';
import { closeRedis, openRedis, type Redis } from '../platform/redis.js';
import { RateLimiter } from './rate-limiter.js';

const log = createLogger('test', 'error');
let redis: Redis;
let away: Redis;
let keys: RedisKeys;
/** Ten seconds into a minute. */
const now = () => 1_800_000_010_000 - (1_800_000_010_000 % 60_000) + 10_000;
/** Where the count itself is tested, a slow machine must not be taken for a Redis that hangs. */
const PATIENT = 30_000;

beforeEach(async () => {
  redis = openRedis({ url: redisUrl(), program: 'test', log });
  away = openRedis({ url: 'redis://127.0.0.1:1/', program: 'test', log: createLogger('test', 'silent') });
  keys = new RedisKeys(redisPrefix());
  await new Promise((resolve) => redis.once('ready', resolve));
});
afterEach(() => {
  closeRedis(redis);
  closeRedis(away);
});

const many = (limiter: RateLimiter, count: number, limit: number) =>
  Promise.all(Array.from({ length: count }, async () => limiter.count('key', limit)));

test('requests of one turn are counted one by one, in order', async () => {
  const verdicts = await many(new RateLimiter(redis, keys, now, PATIENT), 5, 3);
  expect(verdicts.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    [true, 2],
    [true, 1],
    [true, 0],
    [false, 0],
    [false, 0],
  ]);
  expect(verdicts[0]).toMatchObject({ limit: 3, reset: 50 });
});

test('replicas count together', async () => {
  const [one, two] = [1, 2].map(() => new RateLimiter(redis, keys, now, PATIENT)) as [
    RateLimiter,
    RateLimiter,
  ];
  await many(one, 4, 10);
  expect((await many(two, 1, 10))[0]).toMatchObject({ remaining: 5 });
});

test('far from the limit nobody waits for Redis, which counts all the same', async () => {
  const [one, two] = [1, 2].map(() => new RateLimiter(redis, keys, now, PATIENT)) as [
    RateLimiter,
    RateLimiter,
  ];
  expect((await many(one, 1, 100))[0]).toMatchObject({ remaining: 99 });
  const atOnce = Array.from({ length: 60 }, () => one.count('key', 100));
  const isAtOnce = atOnce.map((verdict) => !(verdict instanceof Promise));
  expect(isAtOnce).toEqual([...Array<boolean>(49).fill(true), ...Array<boolean>(11).fill(false)]);
  const verdicts = await Promise.all(atOnce.map(async (verdict) => verdict));
  expect(verdicts.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 60 }, (_, i) => 98 - i));
  expect((await many(two, 1, 100))[0]).toMatchObject({ remaining: 38 });
});

test('what was let in at once is known to other replicas a moment later', async () => {
  const limiter = new RateLimiter(redis, keys, now, PATIENT);
  await many(limiter, 1, 100);
  const key = keys.rateLimit('key', Math.floor(now() / 60_000));
  await many(limiter, 10, 100);
  await until(async () => (await redis.get(key)) === '11', { what: 'the count is in Redis' });
});

test('a number that Redis told long ago is asked for again', async () => {
  const limiter = new RateLimiter(redis, keys, now, PATIENT);
  await many(limiter, 1, 100);
  expect(limiter.count('key', 100)).not.toBeInstanceOf(Promise);
  const present = performance.now();
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => present + 1_001);
  try {
    expect(limiter.count('key', 100)).toBeInstanceOf(Promise);
  } finally {
    clock.mockRestore();
  }
});

test('a new minute begins a new count, and the old keys forget themselves', async () => {
  let time = now();
  const limiter = new RateLimiter(redis, keys, () => time, PATIENT);
  await many(limiter, 3, 3);
  expect((await many(limiter, 1, 3))[0]).toMatchObject({ allowed: false });
  const key = keys.rateLimit('key', Math.floor(time / 60_000));
  expect(await redis.ttl(key)).toBeGreaterThan(100);
  time += 60_000;
  expect((await many(limiter, 1, 3))[0]).toMatchObject({ allowed: true, remaining: 2 });
});

test('while Redis is away the process counts alone', async () => {
  const limiter = new RateLimiter(away, keys, now);
  await many(limiter, 2, 3);
  const verdicts = await many(limiter, 2, 3);
  expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, false]);
});
