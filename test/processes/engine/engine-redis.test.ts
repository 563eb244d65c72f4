import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pickPort } from '../../support/ports.js';
import { startTestRedis } from '../../support/servers/servers.js';
import { RedisConnection } from '@gwk/engine-pod/redis/connection';
import { addressOf } from '../../support/engine/addresses.js';
import { until } from '../../support/engine/engine-process.js';
import { Stage } from '../../support/engine/stage.js';
import type { ScriptedPortOptions } from '../../support/engine/scripted-port.js';

/** A Redis of its own, since it is stopped, flushed and robbed of its users. */
const folder = mkdtempSync(join(tmpdir(), 'gwk-engine-redis-'));
let server: Awaited<ReturnType<typeof startTestRedis>>;
let stage: Stage;
beforeAll(async () => {
  // Nobody else may have the port while it is stopped.
  server = await startTestRedis(folder, await pickPort());
});
afterEach(() => stage.close());
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const PREFIX = 'engine-redis:';
const open = async (options: Partial<ScriptedPortOptions> = {}): Promise<Stage> =>
  (stage = await Stage.open(addressOf(server.url), PREFIX, options));

/** By its bell alone: the engine asks by itself once a minute, and where the answer to an outcome says that more waits. */
const QUIET = { idleClaimMs: 60_000 };
async function sendOne(conversation: string): Promise<void> {
  const { queue } = stage.port;
  const { sent } = stage;
  await until('what was sent is read', () => queue.outcomesOf('receipt').length === 2 * sent);
  const message = queue.add(conversation, 'hello');
  await stage.ring(message.message_id);
  await until('it is sent', () => stage.sent === sent + 1);
}

test('after FLUSHALL the bell rings again, and what was rung for before is claimed', async () => {
  const { port, redis } = await open();
  await stage.start(QUIET);
  await redis.call(['FLUSHALL']);
  port.queue.add('551', 'its bell was lost');
  await until('it is sent', () => stage.sent === 1);
  await sendOne('552');
  expect(await stage.command('live')).toMatchObject({ ok: true });
});

test('while Redis is down messages are found by asking; when it is back, by the bell', async () => {
  await open();
  await stage.start({ idleClaimMs: 300 });
  const port = Number(new URL(server.url).port);
  await server.stop();
  stage.port.queue.add('551', 'hello');
  await until('it is sent', () => stage.sent === 1);
  server = await startTestRedis(folder, port);
  const redis = await RedisConnection.open(addressOf(server.url));
  await until('the engine is back', async () => (await redis.call(['EXISTS', stage.sends])) === 1);
  const message = stage.port.queue.add('552', 'hello');
  await redis.call(['XADD', stage.sends, '*', 'm', message.message_id]);
  await until('it is sent', () => stage.sent === 2);
  redis.close();
});

test('a user that Redis forgot is had again, and only its own streams are touched', async () => {
  const own = addressOf(server.url);
  const admin = await RedisConnection.open(own);
  await open({ redis: { url: own.url, username: 'robbed', password: 'secret', key_prefix: PREFIX } });
  const { instanceId } = stage.port;
  const rules = [`~${PREFIX}i:${instanceId}:*`, `&${PREFIX}i:${instanceId}:*`];
  const commands = [
    'xreadgroup',
    'xack',
    'xdel',
    'xgroup|create',
    'xautoclaim',
    'publish',
    'set',
    'time',
    'auth',
  ];
  const makeUser = () =>
    admin.call([
      'ACL',
      'SETUSER',
      'robbed',
      'reset',
      'on',
      '>secret',
      ...rules,
      ...commands.map((c) => `+${c}`),
    ]);
  await makeUser();
  stage.port.fault = async ({ route }) => {
    if (route === 'redis-user') await makeUser();
    return 'answer' as const;
  };
  const engine = await stage.start(QUIET);
  await sendOne('551');
  await admin.call(['ACL', 'DELUSER', 'robbed']);
  await until('the user was asked for', () => stage.port.of('redis-user').length > 0);
  const listening = async () =>
    String(await admin.call(['CLIENT', 'LIST'])).match(/cmd=xreadgroup user=robbed/g);
  await until('it listens to both streams again', async () => (await listening())?.length === 2);
  await sendOne('552');
  expect(stage.port.of('redis-user').length).toBeLessThan(4);
  expect(engine.log).not.toContain('secret');
  admin.close();
});
