import { randomBytes, randomUUID } from 'node:crypto';
import { createLogger } from '@gwk/core/process/log';
import { decodeCommand, type Command } from '@gwk/core/protocol/commands';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { redisPrefix, redisUrl } from '@gwk/test/support/servers/servers';
import { ManualClock } from '@gwk/test/support/clock';
import { until } from '@gwk/test/support/wait';
import { closeRedis, openRedis, type Redis } from '../platform/redis.js';
import { LiveCommands, newCommandKey, openCommandKey, type CommandTarget } from './commands.js';

const log = createLogger('test', 'silent');
const sealer = new Sealer(parseEncryptionKeys(randomBytes(32).toString('base64')));
const id = randomUUID();
const target: CommandTarget = { id, commandKeySealed: newCommandKey(sealer, id) };
const key = openCommandKey(sealer, id, target.commandKeySealed);

const DEADLINE_MS = 5_000;

let keys: RedisKeys;
let redis: Redis;
let engine: Redis;
let live: LiveCommands;
/** Deadlines pass when a test advances this clock. */
let clock: ManualClock;

beforeEach(async () => {
  keys = new RedisKeys(redisPrefix());
  redis = openRedis({ url: redisUrl(), program: 'test', log });
  engine = openRedis({ url: redisUrl(), program: 'test', log });
  clock = new ManualClock();
  live = new LiveCommands({ redis, redisUrl: redisUrl(), keys, sealer, log, clock });
  await Promise.all([redis, engine].map((client) => ready(client)));
  await until(() => live.up, { what: 'answers can be received' });
});
afterEach(() => {
  live.close();
  closeRedis(redis);
  closeRedis(engine);
});

const ready = (client: Redis) => new Promise((resolve) => client.once('ready', resolve));

/** Reads the next command as an engine does. */
async function nextCommand(): Promise<Command> {
  const next = async () => (await engine.xRange(keys.commands(id), '-', '+'))?.[0];
  const entry = await until(next, { what: 'a command arrives', everyMs: 5 });
  await engine.xDel(keys.commands(id), entry.id);
  return decodeCommand(entry.message, key)!;
}
const answer = ({ id: command, requester }: Command, reply: Record<string, unknown>) =>
  engine.publish(keys.replies(id, requester), JSON.stringify({ id: command, ...reply }));

test('returns the answer of the engine, and encrypts the command with the key of its instance', async () => {
  const answered = live.ask(target, 'live', { a: 1 }, DEADLINE_MS);
  const command = await nextCommand();
  expect(command).toMatchObject({ name: 'live', args: '{"a":1}' });
  await answer(command, { ok: true, result: { state: 'connected' } });
  expect(await answered).toEqual({ id: command.id, ok: true, result: { state: 'connected' } });
});

test('matches answers to their callers', async () => {
  const first = live.ask(target, 'live', {}, DEADLINE_MS);
  const one = await nextCommand();
  const second = live.ask(target, 'live', {}, DEADLINE_MS);
  const two = await nextCommand();
  await answer(two, { ok: true, result: 2 });
  await answer(one, { ok: true, result: 1 });
  expect([await first, await second]).toMatchObject([{ result: 1 }, { result: 2 }]);
});

test('gives the deadline in the time of Redis, and answers null after it', async () => {
  const time = async () => {
    const [seconds, microseconds] = await engine.time();
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  };
  const before = await time();
  const answered = live.ask(target, 'live', {}, DEADLINE_MS);
  const command = await nextCommand();
  expect(command.deadline).toBeGreaterThanOrEqual(before + DEADLINE_MS);
  expect(command.deadline).toBeLessThanOrEqual((await time()) + DEADLINE_MS);
  // No answer comes, so only the deadline ends the call.
  clock.advance(DEADLINE_MS);
  expect(await answered).toBeNull();
  await answer(command, { ok: true, result: 'too late' });
});

test('ignores invalid answers', async () => {
  const answered = live.ask(target, 'live', {}, DEADLINE_MS);
  const command = await nextCommand();
  const channel = keys.replies(id, command.requester);
  for (const text of ['', 'nonsense', 'null', '1', '{}', '{"id":"x"}']) await engine.publish(channel, text);
  await answer(command, { ok: false, code: 'busy', message: '' });
  expect(await answered).toMatchObject({ ok: false, code: 'busy' });
});

test('ignores an answer that is longer than any engine writes', async () => {
  const answered = live.ask(target, 'live', {}, DEADLINE_MS);
  const command = await nextCommand();
  await answer(command, { ok: true, result: 'x'.repeat(65_536) });
  await answer(command, { ok: true, result: 'short' });
  expect(await answered).toMatchObject({ result: 'short' });
});

test('answers null at once while Redis is unavailable', async () => {
  closeRedis(redis);
  // The clock does not advance, so a call that waited for its deadline would hang.
  expect(await live.ask(target, 'live', {}, DEADLINE_MS)).toBeNull();
});
