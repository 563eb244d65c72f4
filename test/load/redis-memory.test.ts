import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisUsers } from '@gwk/api/engines/redis-users';
import { Sealer } from '@gwk/core/crypto/encryption';
import { createLogger } from '@gwk/core/process/log';
import {
  encodeNotified,
  MAX_NOTIFIED_BYTES,
  type NotifiedMessage,
} from '@gwk/core/protocol/notified-messages';
import { RedisKeys, SENDS_WITH_MESSAGES_MAXLEN } from '@gwk/core/protocol/redis-keys';
import { EngineRedis } from '@gwk/engine-pod/redis/engine-redis';
import { createClient } from 'redis';
import { report } from '../support/gateway/check-traffic.js';
import { startTestRedis } from '../support/servers/servers.js';
import { until } from '../support/wait.js';

/** Redis memory of one instance: its user, three connections, a heartbeat and its streams (docs/performance.md). */
const INSTANCES = 200;
/** The API trims streams to about this length. */
const FULL_STREAM = 1_000;
const MOST_BYTES = 100_000;

test('an idle instance and a full stream each need at most 100 kB of Redis', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-redis-memory-'));
  const server = await startTestRedis(folder);
  const admin = createClient({ url: server.url });
  await admin.connect();
  const log = createLogger('engine', 'silent');
  const keys = new RedisKeys('gwk:');
  const sealer = new Sealer([{ id: '0123456789abcdef', key: randomBytes(32) }]);
  const config = { redisUrl: server.url, redisPrefix: 'gwk:', redisAcl: true };
  const users = new RedisUsers(
    admin,
    sealer,
    { ...config, engineRedisUrl: undefined, redisCa: undefined },
    log,
  );
  const engines: EngineRedis[] = [];
  const startEngine = async (instanceId: string): Promise<void> => {
    const { url, username, password } = await users.grant(instanceId, { epoch: 1, holder: 'pod' });
    const engine = new EngineRedis({
      ...{ address: { url, username, password }, keys, instanceId, log, epoch: 1, renewMs: 10_000 },
      commandKey: randomBytes(32),
      restoreUser: async () => undefined,
      notify: async () => undefined,
      keep: () => true,
      take: () => 'claim',
      received: () => undefined,
      heartbeat: () => ({ alive: new Date(), connected: new Date() }),
      handlers: {} as never,
    });
    engine.start();
    engines.push(engine);
  };
  const readInfo = async (section: string, field: string) =>
    Number(new RegExp(`${field}:(\\d+)`).exec(await admin.info(section))![1]);
  const used = () => readInfo('memory', 'used_memory');

  try {
    const empty = await used();
    const ids = Array.from({ length: INSTANCES }, () => randomUUID());
    for (const id of ids) await startEngine(id);
    const connections = 3 * INSTANCES + 1;
    await until(async () => (await readInfo('clients', 'connected_clients')) === connections, {
      what: 'all engines are connected',
    });
    await until(async () => (await admin.keys('gwk:*:alive:1')).length === INSTANCES, {
      what: 'each engine has a heartbeat',
    });
    // Redis takes back the buffers of new connections while they are idle.
    let perInstance = Infinity;
    await until(async () => (perInstance = Math.round(((await used()) - empty) / INSTANCES)) <= MOST_BYTES, {
      what: `an idle instance needs at most ${MOST_BYTES} bytes`,
    });
    const idle = await used();
    const content = 'x'.repeat(MAX_NOTIFIED_BYTES - JSON.stringify([{ content: '' }]).length);
    const longest = encodeNotified([{ content } as NotifiedMessage], randomUUID(), randomBytes(32))!;
    for (const id of ids) {
      const batch = admin.multi();
      for (let entry = 0; entry < FULL_STREAM; entry++) {
        const messages = entry < SENDS_WITH_MESSAGES_MAXLEN && { n: longest };
        batch.xAdd(keys.sends(id), '*', { m: randomUUID(), ...messages });
      }
      await batch.exec();
    }
    const perStream = Math.round(((await used()) - idle) / INSTANCES);
    report('Redis memory', { 'idle instance, bytes': perInstance, 'full stream, bytes': perStream });
    expect(perStream).toBeLessThanOrEqual(MOST_BYTES);
  } finally {
    for (const engine of engines) engine.stop();
    admin.destroy();
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}, 120_000);
