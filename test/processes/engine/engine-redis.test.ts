import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pickPort } from '../../support/ports.js';
import { startTestRedis } from '../../support/servers/servers.js';
import { RedisConnection } from '@gwk/engine-pod/redis/connection';
import { toRedisAddress } from '../../support/engine/addresses.js';
import { until } from '../../support/engine/engine-process.js';
import { Stage } from '../../support/engine/stage.js';
import type { ScriptedInternalApiOptions } from '../../support/engine/scripted-internal-api.js';

/** A Redis of its own, because the test stops it, flushes it and deletes its users. */
const folder = mkdtempSync(join(tmpdir(), 'gwk-engine-redis-'));
let server: Awaited<ReturnType<typeof startTestRedis>>;
let stage: Stage;
beforeAll(async () => {
  // Nobody else may take the port while it is stopped.
  server = await startTestRedis(folder, await pickPort());
});
afterEach(() => stage.close());
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const PREFIX = 'engine-redis:';
const open = async (options: Partial<ScriptedInternalApiOptions> = {}): Promise<Stage> =>
  (stage = await Stage.open(toRedisAddress(server.url), PREFIX, options));

/**
 * Notifications only: the engine claims by itself once a minute, and when the answer to an outcome says that more
 * messages wait.
 */
const QUIET = { idleClaimMs: 60_000 };
async function sendOne(conversation: string): Promise<void> {
  const { queue } = stage.api;
  const { sent } = stage;
  await until('sent messages are read', () => queue.outcomesOf('receipt').length === 2 * sent);
  const message = queue.add(conversation, 'hello');
  await stage.notify(message.message_id);
  await until('it is sent', () => stage.sent === sent + 1);
}

test('receives notifications again after FLUSHALL', async () => {
  const { redis } = await open();
  await stage.start(QUIET);
  await sendOne('551');
  await redis.call(['FLUSHALL']);
  await sendOne('552');
  expect(await stage.command('live')).toMatchObject({ ok: true });
});

test('claims by itself while Redis is down, and by notification when it is back', async () => {
  await open();
  await stage.start({ idleClaimMs: 300 });
  const port = Number(new URL(server.url).port);
  await server.stop();
  stage.api.queue.add('551', 'hello');
  await until('it is sent', () => stage.sent === 1);
  server = await startTestRedis(folder, port);
  const redis = await RedisConnection.open(toRedisAddress(server.url));
  const readers = async () => String(await redis.call(['CLIENT', 'LIST'])).match(/cmd=xread /g);
  await until('the engine is back', async () => (await readers())?.length === 2);
  const message = stage.api.queue.add('552', 'hello');
  await redis.call(['XADD', stage.sends, '*', 'm', message.message_id]);
  await until('it is sent', () => stage.sent === 2);
  redis.close();
});

test('restores a user that Redis forgot, with access to its own streams only', async () => {
  const own = toRedisAddress(server.url);
  const admin = await RedisConnection.open(own);
  await open({ redis: { url: own.url, username: 'robbed', password: 'secret', key_prefix: PREFIX } });
  const { instanceId } = stage.api;
  const rules = [`~${PREFIX}i:${instanceId}:*`, `&${PREFIX}i:${instanceId}:*`];
  const commands = ['xread', 'xdel', 'publish', 'del', 'incrby', 'pexpire', 'time'];
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
  stage.api.fault = async ({ route }) => {
    if (route === 'redis-user') await makeUser();
    return 'answer' as const;
  };
  const engine = await stage.start(QUIET);
  await sendOne('551');
  await admin.call(['ACL', 'DELUSER', 'robbed']);
  await until('the user was requested', () => stage.api.of('redis-user').length > 0);
  const listening = async () => String(await admin.call(['CLIENT', 'LIST'])).match(/cmd=xread user=robbed/g);
  await until('it listens to both streams again', async () => (await listening())?.length === 2);
  await sendOne('552');
  expect(stage.api.of('redis-user').length).toBeLessThan(4);
  expect(engine.log).not.toContain('secret');
  admin.close();
});
