import { randomBytes } from 'node:crypto';
import { encodeCommand } from '@gwk/core/protocol/commands';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import {
  createInternalApiWorld,
  sharedInternalApi,
  readRefusal,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { redisUrl } from '@gwk/test/support/servers/servers';
import { createClient } from 'redis';
import { createLogger } from '@gwk/core/process/log';
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
const heartbeatOf = ({ instanceId, lease }: TestEngine) => {
  const { keys } = internalApi.world;
  return [keys.alive(instanceId, lease.epoch), keys.connected(instanceId, lease.epoch)];
};
const admin = (...command: string[]) => internalApi.world.redis.sendCommand(command);
const denied = (promise: Promise<unknown>) => expect(promise).rejects.toThrow(/NOPERM|no permissions/i);

test('an engine may run its own commands in Redis', async () => {
  const engine = await acquired();
  const client = await connect(engine);
  const { keys } = internalApi.world;
  const id = engine.instanceId;
  for (const stream of [keys.sends(id), keys.commands(id)]) {
    const entry = (await admin('XADD', stream, '*', 'm', 'x')) as unknown as string;
    const read = await client.sendCommand(['XREAD', 'COUNT', '5', 'BLOCK', '10', 'STREAMS', stream, '0-0']);
    expect(JSON.stringify(read)).toContain(entry);
    expect(await client.sendCommand(['XDEL', stream, entry])).toBe(1);
  }
  for (const key of heartbeatOf(engine)) {
    await client.sendCommand(['DEL', key]);
    await client.sendCommand(['INCRBY', key, '1']);
    await client.sendCommand(['PEXPIRE', key, '10000']);
  }
  await client.sendCommand(['PUBLISH', keys.replies(id, 'api-1'), 'answer']);
  expect(await client.sendCommand(['TIME'])).toHaveLength(2);
  await client.sendCommand(['SELECT', '0']);
});

test('an engine may neither reach the keys of another nor run other commands', async () => {
  const engine = await acquired();
  const other = await acquired();
  const client = await connect(engine);
  const { keys } = internalApi.world;
  const theirs = other.instanceId;
  const own = engine.instanceId;
  const command = { id: '1', name: 'logout' as const, args: '{}', deadline: 1, requester: 'x' };
  const forged = Object.entries(encodeCommand(command, Buffer.alloc(32))).flat();
  const forbidden = [
    ['XREAD', 'STREAMS', keys.sends(theirs), '0'],
    ['XREAD', 'STREAMS', keys.sends(own), keys.sends(theirs), '0', '0'],
    ['XDEL', keys.sends(theirs), '0-1'],
    ['XADD', keys.commands(theirs), '*', ...forged],
    ['DEL', keys.sends(theirs)],
    ['DEL', keys.sends(own), keys.sends(theirs)],
    ['INCRBY', keys.alive(theirs, 1), '1'],
    ['INCRBY', keys.alive(own, engine.lease.epoch + 1), '1'],
    ['INCRBY', keys.rateLimit('key', 1), '1'],
    ['PEXPIRE', keys.sends(theirs), '1'],
    ['PUBLISH', keys.replies(theirs, 'api-1'), 'forged'],
    ['PUBLISH', 'anything', 'x'],
    ['PUBLISH', keys.sends(own), 'x'],
    ['GET', keys.alive(own, engine.lease.epoch)],
    ['XADD', keys.commands(own), '*', ...forged],
    ['XADD', keys.sends(own), '*', 'm', 'x'],
    ['XRANGE', keys.sends(own), '-', '+'],
    ['SUBSCRIBE', keys.replies(own, 'api-1')],
    ['PSUBSCRIBE', '*'],
    ['KEYS', '*'],
    ['SCAN', '0'],
    ['EVAL', 'return 1', '0'],
    ['MULTI'],
    ['CLIENT', 'LIST'],
    ['CLIENT', 'SETNAME', 'x'],
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

test('an engine cannot store a value of its choice, under any key', async () => {
  const engine = await acquired();
  const client = await connect(engine);
  const { keys } = internalApi.world;
  const id = engine.instanceId;
  const large = 'x'.repeat(100_000);
  const elsewhere = `${keys.instance(id)}large`;
  for (const key of [...keys.engineKeys(id, engine.lease.epoch), elsewhere]) {
    const writes = [
      ['SET', key, large],
      ['APPEND', key, large],
      ['SETBIT', key, '4000000000', '1'],
      ['SETRANGE', key, '500000000', 'x'],
      ['XADD', key, '*', 'm', large],
      ['XGROUP', 'CREATE', key, large, '0', 'MKSTREAM'],
      ['XREADGROUP', 'GROUP', 'engine', large, 'STREAMS', key, '>'],
      ['LPUSH', key, large],
      ['HSET', key, large, '1'],
      ['SADD', key, large],
      ['ZADD', key, '1', large],
      ['PFADD', key, large],
      ['RESTORE', key, '0', large],
    ];
    for (const write of writes) await denied(client.sendCommand(write));
    expect(await admin('EXISTS', key)).toBe(0);
  }
  await denied(client.sendCommand(['INCRBY', elsewhere, '1']));
});

test('a newer lease removes what an older engine should not have left', async () => {
  const engine = await acquired();
  const client = await connect(engine);
  const left = internalApi.world.keys.engineKeys(engine.instanceId, engine.lease.epoch);
  for (const key of left) await client.sendCommand(['INCRBY', key, '1']);
  await engine.call('release', {});
  await engine.acquire();
  expect(await admin('EXISTS', ...left)).toBe(0);
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
