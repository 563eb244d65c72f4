import { openDatabase } from '@gwk/api/database/database';
import { migrate, listPendingMigrations } from '@gwk/api/database/migrate';
import { closeRedis, openRedis } from '@gwk/api/platform/redis';
import { createLogger } from '@gwk/core/process/log';
import { RedisConnection } from '@gwk/engine-pod/redis/connection';
import { makeServerCertificate } from '@gwk/operator/secrets/certificate';
import { createEmptyDatabase, type TestDatabase } from '../../support/servers/database.js';
import { redisUrl } from '../../support/servers/servers.js';
import { startTlsProxy, type TlsProxy } from './tls-proxy.js';
import { until } from '../../support/wait.js';

/** Postgres and Redis behind TLS with an authority that the machine does not trust by default. */
const own = await makeServerCertificate(['localhost']);
const other = await makeServerCertificate(['localhost']);
const log = createLogger('test', 'fatal');

let database: TestDatabase;
let postgres: TlsProxy;
let redis: TlsProxy;

beforeAll(async () => {
  database = await createEmptyDatabase();
  postgres = await startTlsProxy(new URL(database.url), { ...own, speaks: 'postgres' });
  redis = await startTlsProxy(new URL(redisUrl()), { ...own, speaks: 'redis' });
});
afterAll(async () => {
  await postgres.close();
  await redis.close();
  await database.drop();
});

function through(host: string, parameters = ''): string {
  const url = new URL(database.url);
  url.hostname = host;
  url.port = String(postgres.port);
  return `${url.href}${parameters}`;
}

describe('Postgres, with its certificate authority in the settings', () => {
  test.each([
    ['nothing about TLS', ''],
    ['sslmode=verify-full', '?sslmode=verify-full'],
    ['sslmode=no-verify', '?sslmode=no-verify'],
    ['sslmode=disable', '?sslmode=disable'],
  ])('is connected with TLS when the URL has %s', async (_case, parameters) => {
    const before = postgres.seen.secure;
    const db = openDatabase({
      url: through('localhost', parameters),
      ca: own.ca,
      poolSize: 2,
      program: 'test',
    });
    try {
      expect(await db.$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }]);
    } finally {
      await db.$disconnect();
    }
    expect(postgres.seen.secure).toBeGreaterThan(before);
    expect(postgres.seen.plain).toBe(0);
  });

  test.each([
    ['with another authority', 'localhost', other.ca, ''],
    ['with another authority, even with sslmode=no-verify', 'localhost', other.ca, '?sslmode=no-verify'],
    ['with another host name', '127.0.0.1', own.ca, ''],
  ])('is refused %s', async (_case, host, ca, parameters) => {
    await expect(listPendingMigrations({ url: through(host, parameters), ca })).rejects.toThrow(
      /certificate|altnames|IP/i,
    );
  });

  test('is migrated', async () => {
    const at = { url: through('localhost'), ca: own.ca };
    expect((await listPendingMigrations(at)).length).toBeGreaterThan(5);
    await migrate(at);
    expect(await listPendingMigrations(at)).toEqual([]);
  });
});

describe('Redis, with its certificate authority in the settings', () => {
  const address = (host: string) => {
    const url = new URL(redisUrl());
    return `rediss://${url.username}:${url.password}@${host}:${redis.port}`;
  };

  test('is connected with TLS by API and worker', async () => {
    const client = openRedis({ url: address('localhost'), ca: own.ca, program: 'test', log });
    try {
      await until(() => client.isReady, { what: 'Redis is connected' });
      expect(await client.ping()).toBe('PONG');
    } finally {
      closeRedis(client);
    }
  });

  test('is refused by API and worker with another authority', async () => {
    const failed: string[] = [];
    const client = openRedis({ url: address('localhost'), ca: other.ca, program: 'test', log });
    client.on('error', (error: NodeJS.ErrnoException) => failed.push(String(error.code)));
    try {
      await until(() => failed.length > 0, { what: 'the connection is refused' });
      expect(client.isReady).toBe(false);
      expect(failed[0]).toMatch(/SIGNATURE/);
    } finally {
      closeRedis(client);
    }
  });

  const engine = (host: string, ca: string | undefined) => {
    const { username, password } = new URL(redisUrl());
    const url = `rediss://${host}:${redis.port}`;
    return RedisConnection.open({ url, username: username || null, password: password || null, ca });
  };

  test('is connected with TLS by engines', async () => {
    const connection = await engine('localhost', own.ca);
    expect(await connection.call(['PING'])).toBe('PONG');
    connection.close();
    await connection.closed;
  });

  test.each([
    ['another authority', 'localhost', other.ca],
    ['only the public authorities', 'localhost', undefined],
    ['another host name', '127.0.0.1', own.ca],
  ])('is refused by engines with %s', async (_case, host, ca) => {
    await expect(engine(host, ca)).rejects.toThrow(/certificate|altnames|signature|IP/i);
  });
});
