import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { createLogger } from '@gwk/core/log';
import { ManualClock } from '@gwk/test/support/clock';
import { redisPrefix, redisUrl } from '@gwk/test/support/servers/servers';
import { until } from '@gwk/test/support/wait';
import { closeRedis, openRedis, type Redis } from '../platform/redis.js';
import { Doorbell } from './send-notifier.js';

let redis: Redis;
let keys: RedisKeys;
let doorbell: Doorbell;
/** How long an instance rests. */
const REST_MS = 10;
let clock: ManualClock;

beforeEach(async () => {
  redis = openRedis({ url: redisUrl(), program: 'test', log: createLogger('test', 'error') });
  keys = new RedisKeys(redisPrefix());
  clock = new ManualClock();
  doorbell = new Doorbell(redis, keys, clock);
  await new Promise((resolve) => redis.once('ready', resolve));
});
afterEach(() => closeRedis(redis));

const rungFor = async (instanceId: string) =>
  ((await redis.xRange(keys.sends(instanceId), '-', '+')) ?? []).map((entry) => ({ ...entry?.message }));

/** A script that Redis has to be told is run in a second command, which nobody waits for longer than a moment. */
const rung = (instanceId: string) =>
  until(async () => (await rungFor(instanceId)).length > 0, { what: `${instanceId} is rung` });

test('every instance is rung in its own stream, with the spans that ring', async () => {
  await doorbell.ring([
    { instanceId: 'one', messageId: 'a' },
    { instanceId: 'two', messageId: 'b', traceparents: ['x', 'y'] },
  ]);
  await rung('two');
  expect(await rungFor('one')).toEqual([{ m: 'a' }]);
  expect(await rungFor('two')).toEqual([{ m: 'b', t: 'x,y' }]);
});

test('a Redis that has forgotten the script is told it again', async () => {
  // As for a script that was never told: to make it forget this one would be to make it forget those of all tests.
  const evalSha = redis.evalSha.bind(redis);
  const asked = jest
    .spyOn(redis, 'evalSha')
    .mockImplementationOnce((_, given) => evalSha('0'.repeat(40), given));
  await doorbell.ring([{ instanceId: 'two', messageId: 'b' }]);
  expect(asked).toHaveBeenCalledTimes(1);
  await rung('two');
  expect(await rungFor('two')).toEqual([{ m: 'b' }]);
});

test('an instance that was rung a moment ago is rung again soon, once for all that came meanwhile', async () => {
  const ring = (...ids: string[]) =>
    doorbell.ring(ids.map((instanceId, n) => ({ instanceId, messageId: `${instanceId}${n}` })));
  await Promise.all([ring('one'), ring('one', 'two'), ring('three', 'one')]);
  expect(await rungFor('one')).toHaveLength(1);
  clock.advance(REST_MS);
  await until(async () => (await rungFor('one')).length >= 2, { what: 'it is rung again' });
  expect(await rungFor('one')).toEqual([{ m: 'one0' }, { m: 'one1' }]);
  expect(await rungFor('two')).toEqual([{ m: 'two1' }]);
});

test('spans are told of at once', async () => {
  await doorbell.ring([{ instanceId: 'one', messageId: 'a' }]);
  await doorbell.ring([{ instanceId: 'one', messageId: 'b', traceparents: ['x'] }]);
  expect(await rungFor('one')).toEqual([{ m: 'a' }, { m: 'b', t: 'x' }]);
});

test('a key that is no stream keeps no other instance from being rung, and fails nobody', async () => {
  await redis.set(keys.sends('broken'), 'no stream');
  await doorbell.ring([
    { instanceId: 'broken', messageId: 'a' },
    { instanceId: 'two', messageId: 'b' },
  ]);
  expect(await rungFor('two')).toEqual([{ m: 'b' }]);
});

test('a Redis that does not answer is asked for little, and tells all when it does', async () => {
  const asked = jest.spyOn(redis, 'evalSha');
  const names = Array.from({ length: 200 }, (_, n) => `instance ${n}`);
  const other = redis.duplicate();
  await other.connect();
  // What follows on this connection waits for it.
  const silence = redis.blPop(keys.sends('nobody'), 0);
  const answers = names.map((instanceId) => doorbell.ring([{ instanceId, messageId: instanceId }]));
  clock.advance(REST_MS);
  expect(asked).toHaveBeenCalledTimes(32);
  await other.lPush(keys.sends('nobody'), 'an end');
  await silence;
  other.destroy();
  await Promise.all(answers);
  clock.advance(REST_MS);
  await rung('instance 199');
  for (const name of names) expect(await rungFor(name)).toEqual([{ m: name }]);
  // The others in one command, once there was room.
  expect(asked).toHaveBeenCalledTimes(33);
});

test('nothing to ring is nothing to wait for', async () => {
  await expect(doorbell.ring([])).resolves.toBeUndefined();
});
