import { randomBytes } from 'node:crypto';
import { encodeCommand } from '@gwk/core/protocol/commands';
import { parseEncryptionKeys, Sealer } from '@gwk/core/encryption';
import {
  createInternalApiWorld,
  sharedInternalApi,
  readRefusal,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { redisUrl } from '@gwk/test/support/servers/servers';
import { createClient } from 'redis';
import { createLogger } from '@gwk/core/log';
import { RedisUsers } from './redis-users.js';

let internalApi: InternalApiWorld;
const clients: { destroy(): void }[] = [];
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
afterAll(async () => {
  for (const client of clients) client.destroy();
  await internalApi.close();
});

async function connect(engine: TestEngine) {
  const { url, username, password } = engine.terms!.redis;
  const client = createClient({
    url,
    username: username!,
    password: password!,
    disableClientInfo: true,
    socket: { reconnectStrategy: false },
  });
  client.on('error', () => undefined);
  clients.push(client);
  await client.connect();
  return client;
}
const acquired = async () => (await internalApi.addEngine()).acquire();
const user = (engine: TestEngine) => internalApi.world.keys.engineUser(engine.instanceId);
const admin = (...command: string[]) => internalApi.world.redis.sendCommand(command);
const denied = (promise: Promise<unknown>) => expect(promise).rejects.toThrow(/NOPERM|no permissions/i);

test('an engine may run its own commands in Redis', async () => {
  const engine = await acquired();
  const client = await connect(engine);
  const { keys } = internalApi.world;
  const id = engine.instanceId;
  for (const stream of [keys.sends(id), keys.commands(id)]) {
    await client.sendCommand(['XGROUP', 'CREATE', stream, 'engine', '0', 'MKSTREAM']);
    const entry = (await admin('XADD', stream, '*', 'm', 'x')) as unknown as string;
    const read = await client.sendCommand([
      'XREADGROUP',
      'GROUP',
      'engine',
      '1',
      'COUNT',
      '5',
      'STREAMS',
      stream,
      '>',
    ]);
    expect(JSON.stringify(read)).toContain(entry);
    await client.sendCommand(['XAUTOCLAIM', stream, 'engine', '2', '0', '0']);
    expect(await client.sendCommand(['XACK', stream, 'engine', entry])).toBe(1);
    expect(await client.sendCommand(['XDEL', stream, entry])).toBe(1);
  }
  await client.sendCommand(['SET', keys.heartbeat(id), '1', 'PX', '10000']);
  await client.sendCommand(['PUBLISH', keys.replies(id, 'api-1'), 'answer']);
  expect(await client.sendCommand(['TIME'])).toHaveLength(2);
  expect(await client.sendCommand(['PING'])).toBe('PONG');
});

test('an engine may neither reach the keys of another nor run other commands', async () => {
  const engine = await acquired();
  const other = await acquired();
  const client = await connect(engine);
  const { keys } = internalApi.world;
  const theirs = other.instanceId;
  await admin('XGROUP', 'CREATE', keys.sends(theirs), 'engine', '0', 'MKSTREAM');
  const command = { id: '1', name: 'logout' as const, args: '{}', deadline: 1, requester: 'x' };
  const forged = Object.entries(encodeCommand(command, Buffer.alloc(32))).flat();
  const forbidden = [
    ['XREADGROUP', 'GROUP', 'engine', '1', 'STREAMS', keys.sends(theirs), '>'],
    [
      'XREADGROUP',
      'GROUP',
      'engine',
      '1',
      'STREAMS',
      keys.sends(engine.instanceId),
      keys.sends(theirs),
      '>',
      '>',
    ],
    ['XACK', keys.sends(theirs), 'engine', '0-1'],
    ['XDEL', keys.sends(theirs), '0-1'],
    ['XAUTOCLAIM', keys.sends(theirs), 'engine', '1', '0', '0'],
    ['XGROUP', 'CREATE', keys.commands(theirs), 'engine', '0', 'MKSTREAM'],
    ['XADD', keys.commands(theirs), '*', ...forged],
    ['SET', keys.heartbeat(theirs), '1'],
    ['SET', keys.rateLimit('key', 1), '1'],
    ['PUBLISH', keys.replies(theirs, 'api-1'), 'forged'],
    ['PUBLISH', 'anything', 'x'],
    ['GET', keys.heartbeat(engine.instanceId)],
    ['XADD', keys.commands(engine.instanceId), '*', ...forged],
    ['XADD', keys.sends(engine.instanceId), '*', 'm', 'x'],
    ['XRANGE', keys.sends(engine.instanceId), '-', '+'],
    ['XGROUP', 'DESTROY', keys.sends(engine.instanceId), 'engine'],
    ['DEL', keys.sends(engine.instanceId)],
    ['SUBSCRIBE', keys.replies(engine.instanceId, 'api-1')],
    ['PSUBSCRIBE', '*'],
    ['KEYS', '*'],
    ['SCAN', '0'],
    ['EVAL', 'return 1', '0'],
    ['CLIENT', 'LIST'],
    ['CLIENT', 'KILL', 'TYPE', 'normal'],
    ['CONFIG', 'GET', '*'],
    ['ACL', 'LIST'],
    ['ACL', 'SETUSER', user(engine), 'allkeys'],
    ['FLUSHALL'],
    ['MONITOR'],
    ['INFO'],
  ];
  for (const command of forbidden) await denied(client.sendCommand(command));
});

test('a newer lease closes the connections of the older one and invalidates its password', async () => {
  const engine = await acquired();
  const client = await connect(engine);
  const closed = new Promise<void>((resolve) => client.once('error', () => resolve()));
  await engine.call('release', {});
  const before = { ...engine.terms! };
  await engine.acquire();
  await closed;
  expect(engine.terms!.redis.password).not.toBe(before.redis.password);
  const stale = { ...engine, terms: before } as TestEngine;
  await expect(connect(stale)).rejects.toThrow(/WRONGPASS|invalid username-password/);
  await connect(engine);
});

test('restores a user that Redis lost, for the current lease only', async () => {
  const engine = await acquired();
  await admin('ACL', 'DELUSER', user(engine));
  await expect(connect(engine)).rejects.toThrow(/WRONGPASS/);
  await engine.call('redis-user', {});
  await connect(engine);
  const stale = { epoch: engine.lease.epoch, holder: crypto.randomUUID() };
  expect(await readRefusal(engine.client.call('redis-user', stale))).toBe('fenced');
});

test('restores a user with the password of its engine during a key rotation', async () => {
  const engine = await acquired();
  const { database: db, redis, sealer, keys } = internalApi.world;
  const redisPrefix = keys.instance('').replace(/i::$/, '');
  const rotated = new Sealer([...parseEncryptionKeys(randomBytes(32).toString('base64')), ...sealer.keys]);
  const log = createLogger('test', 'fatal');
  const config = {
    redisUrl: redisUrl(),
    engineRedisUrl: undefined,
    redisPrefix,
    redisAcl: true,
    redisCa: undefined,
  };
  const users = new RedisUsers(redis, rotated, config, log);
  const { epoch, holder } = await db.instanceLease.findUniqueOrThrow({
    where: { instanceId: engine.instanceId },
  });
  await admin('ACL', 'DELUSER', user(engine));
  await users.restore(engine.instanceId, { epoch, holder: holder! });
  await connect(engine);
});

test('grants a lease without Redis while Redis is unavailable', async () => {
  const unavailableRedis = { isReady: false, sendCommand: jest.fn() };
  const alone = await createInternalApiWorld({ redis: unavailableRedis });
  const engine = await alone.addEngine();
  await engine.acquire();
  expect(engine.terms!.redis.username).toBe(alone.world.keys.engineUser(engine.instanceId));
  await expect(engine.call('redis-user', {})).rejects.toThrow(/503/);
  expect(unavailableRedis.sendCommand).not.toHaveBeenCalled();
  await alone.close();
});

test('without ACLs engines share the credentials of the API', async () => {
  const shared = await createInternalApiWorld({
    config: { redisAcl: false, engineRedisUrl: 'redis://redis.internal:6379' },
  });
  const engine = await (await shared.addEngine()).acquire();
  const { username, password } = new URL(redisUrl());
  expect(engine.terms!.redis).toMatchObject({ url: 'redis://redis.internal:6379', username, password });
  await engine.call('redis-user', {});
  await shared.close();
});
