import { RedisKeys, SENDS_WITH_MESSAGES_MAXLEN } from '@gwk/core/protocol/redis-keys';
import { createLogger } from '@gwk/core/process/log';
import { ManualClock } from '@gwk/test/support/clock';
import { redisPrefix, redisUrl } from '@gwk/test/support/servers/servers';
import { until } from '@gwk/test/support/wait';
import { closeRedis, openRedis, type Redis } from '../platform/redis.js';
import { SendNotifier } from './send-notifier.js';

let redis: Redis;
let keys: RedisKeys;
let sendNotifier: SendNotifier;
/** Shortest interval between two notifications of an instance. */
const MIN_INTERVAL_MS = 10;
let clock: ManualClock;

beforeEach(async () => {
  redis = openRedis({ url: redisUrl(), program: 'test', log: createLogger('test', 'error') });
  keys = new RedisKeys(redisPrefix());
  clock = new ManualClock();
  sendNotifier = new SendNotifier(redis, keys, clock);
  await new Promise((resolve) => redis.once('ready', resolve));
});
afterEach(() => closeRedis(redis));

const notificationsOf = async (instanceId: string) =>
  ((await redis.xRange(keys.sends(instanceId), '-', '+')) ?? []).map((entry) => ({ ...entry?.message }));

/** Redis may lack the script. Then `notify` sends a second command and may time out before it runs. */
const untilNotified = (instanceId: string) =>
  until(async () => (await notificationsOf(instanceId)).length > 0, { what: `${instanceId} is notified` });

test('adds a notification to the stream of each instance, with its trace contexts', async () => {
  await sendNotifier.notify([
    { instanceId: 'one', messageId: 'a' },
    { instanceId: 'two', messageId: 'b', traceparents: ['x', 'y'] },
  ]);
  await untilNotified('two');
  expect(await notificationsOf('one')).toEqual([{ m: 'a' }]);
  expect(await notificationsOf('two')).toEqual([{ m: 'b', t: 'x,y' }]);
});

test('sends the script again after Redis has lost it', async () => {
  // An unknown digest, because SCRIPT FLUSH would drop the scripts of all tests.
  const evalSha = redis.evalSha.bind(redis);
  const evaluated = jest
    .spyOn(redis, 'evalSha')
    .mockImplementationOnce((_, given) => evalSha('0'.repeat(40), given));
  await sendNotifier.notify([{ instanceId: 'two', messageId: 'b' }]);
  expect(evaluated).toHaveBeenCalledTimes(1);
  await untilNotified('two');
  expect(await notificationsOf('two')).toEqual([{ m: 'b' }]);
});

test('notifies an instance once for all messages within the interval', async () => {
  const notify = (...ids: string[]) =>
    sendNotifier.notify(ids.map((instanceId, n) => ({ instanceId, messageId: `${instanceId}${n}` })));
  await Promise.all([notify('one'), notify('one', 'two'), notify('three', 'one')]);
  expect(await notificationsOf('one')).toHaveLength(1);
  clock.advance(MIN_INTERVAL_MS);
  await until(async () => (await notificationsOf('one')).length >= 2, { what: 'it is notified again' });
  expect(await notificationsOf('one')).toEqual([{ m: 'one0' }, { m: 'one1' }]);
  expect(await notificationsOf('two')).toEqual([{ m: 'two1' }]);
});

describe('messages of a notification', () => {
  const of = (messageId: string) => ({
    instanceId: 'one',
    messageId,
    messages: () => `messages of ${messageId}`,
  });

  test('are in the stream, unless the engine has left many entries there', async () => {
    await sendNotifier.notify([{ ...of('a'), traceparents: ['x'] }]);
    await untilNotified('one');
    expect(await notificationsOf('one')).toEqual([{ m: 'a', t: 'x', n: 'messages of a' }]);
    for (let entry = 0; entry < SENDS_WITH_MESSAGES_MAXLEN - 2; entry++)
      await redis.xAdd(keys.sends('one'), '*', { m: 'z' });
    for (const id of ['b', 'c']) await sendNotifier.notify([{ ...of(id), traceparents: ['x'] }]);
    expect((await notificationsOf('one')).slice(-2)).toEqual([
      { m: 'b', t: 'x', n: 'messages of b' },
      { m: 'c', t: 'x' },
    ]);
    // Nothing is encrypted for such an engine until it may have read them.
    await redis.del(keys.sends('one'));
    const encrypt = jest.fn(() => 'messages');
    const traced = { instanceId: 'one', messageId: 'd', traceparents: ['x'], messages: encrypt };
    clock.advance(999);
    await sendNotifier.notify([traced]);
    expect(await notificationsOf('one')).toEqual([{ m: 'd', t: 'x' }]);
    expect(encrypt).not.toHaveBeenCalled();
    clock.advance(1);
    await sendNotifier.notify([traced]);
    expect((await notificationsOf('one')).slice(1)).toEqual([{ m: 'd', t: 'x', n: 'messages' }]);
  });

  test('are left to a claim when the notification stands for others too', async () => {
    await sendNotifier.notify([of('a')]);
    await untilNotified('one');
    clock.advance(1);
    await sendNotifier.notify([of('b')]);
    clock.advance(2);
    // Behind a postponed one it waits as well, so that a busy instance does not claim every 2 ms.
    await sendNotifier.notify([of('c')]);
    expect(await notificationsOf('one')).toHaveLength(1);
    clock.advance(MIN_INTERVAL_MS);
    await until(async () => (await notificationsOf('one')).length >= 2, { what: 'it is notified again' });
    clock.advance(2);
    await sendNotifier.notify([of('d')]);
    await until(async () => (await notificationsOf('one')).length >= 3, {
      what: 'it is notified a third time',
    });
    expect(await notificationsOf('one')).toEqual([
      { m: 'a', n: 'messages of a' },
      { m: 'c' },
      { m: 'd', n: 'messages of d' },
    ]);
    expect(await redis.pTTL(keys.sends('one'))).toBeGreaterThan(23 * 3_600_000);
  });
});

test('sends a traced notification at once', async () => {
  await sendNotifier.notify([{ instanceId: 'one', messageId: 'a' }]);
  await sendNotifier.notify([{ instanceId: 'one', messageId: 'b', traceparents: ['x'] }]);
  expect(await notificationsOf('one')).toEqual([{ m: 'a' }, { m: 'b', t: 'x' }]);
});

test('notifies other instances if one key is no stream', async () => {
  await redis.set(keys.sends('broken'), 'no stream');
  await sendNotifier.notify([
    { instanceId: 'broken', messageId: 'a' },
    { instanceId: 'two', messageId: 'b' },
  ]);
  expect(await notificationsOf('two')).toEqual([{ m: 'b' }]);
});

test('bounds pending commands to an unresponsive Redis and notifies all instances later', async () => {
  const evaluated = jest.spyOn(redis, 'evalSha');
  const names = Array.from({ length: 200 }, (_, n) => `instance ${n}`);
  const other = redis.duplicate();
  await other.connect();
  // Blocks the following commands of this connection.
  const blocked = redis.blPop(keys.sends('nobody'), 0);
  const sent = names.map((instanceId) => sendNotifier.notify([{ instanceId, messageId: instanceId }]));
  clock.advance(MIN_INTERVAL_MS);
  expect(evaluated).toHaveBeenCalledTimes(32);
  await other.lPush(keys.sends('nobody'), 'an end');
  await blocked;
  other.destroy();
  await Promise.all(sent);
  clock.advance(MIN_INTERVAL_MS);
  await untilNotified('instance 199');
  for (const name of names) expect(await notificationsOf(name)).toEqual([{ m: name }]);
  // One command for all postponed notifications.
  expect(evaluated).toHaveBeenCalledTimes(33);
});

test('resolves at once without notifications', async () => {
  await expect(sendNotifier.notify([])).resolves.toBeUndefined();
});
