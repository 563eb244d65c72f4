import { setImmediate as turn } from 'node:timers/promises';
import { newUuid } from '@gwk/core/ids/ids';
import { createTestDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import { openDatabase, type Database, type Queryable } from '../database/database.js';
import { hashApiKey, KeyDirectory, newApiKey } from './api-keys.js';

let database: TestDatabase;
let db: Database;
let queries: number;
let directory: KeyDirectory;
let now: number;
let answered: Promise<unknown>;
const accountId = newUuid();
const known = newApiKey();

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url, poolSize: 4, program: 'test' });
  await db.account.create({ data: { id: accountId, name: 'acme', requestsPerMinute: 7 } });
  const hash = new Uint8Array(known.hash);
  await db.apiKey.create({ data: { id: newUuid(), accountId, name: '', hash, scopes: ['events:read'] } });
});
beforeEach(() => {
  queries = 0;
  now = 1_000_000;
  const $queryRaw = ((...args: Parameters<Queryable['$queryRaw']>) => {
    queries++;
    return (answered = Promise.resolve(db.$queryRaw(...args)));
  }) as unknown as Queryable['$queryRaw'];
  directory = new KeyDirectory({ $queryRaw } as Queryable, () => now);
});
afterAll(async () => {
  await db.$disconnect();
  await database.drop();
});

test('stores a key as its hash, and finds its account', async () => {
  expect(known.hash.toString('hex')).toBe(hashApiKey(known.key));
  expect(await directory.find(known.key)).toEqual({
    credential: { kind: 'key', id: expect.any(String) as string },
    accountId,
    accountName: 'acme',
    scopes: new Set(['events:read']),
    instances: null,
    requestsPerMinute: 7,
    suspended: false,
  });
});

test('200 requests with an uncached key cost one query, and later ones none', async () => {
  const found = await Promise.all(Array.from({ length: 200 }, async () => directory.find(known.key)));
  expect(new Set(found.map((caller) => caller?.accountId))).toEqual(new Set([accountId]));
  expect(queries).toBe(1);
  expect(directory.find(known.key)).not.toBeInstanceOf(Promise);
});

test('many invented keys cost a few queries, and malformed ones none', async () => {
  const invented = await Promise.all(
    Array.from({ length: 200 }, async () => directory.find(newApiKey().key)),
  );
  expect(invented.every((caller) => caller === null)).toBe(true);
  expect(queries).toBeLessThanOrEqual(4);
  const before = queries;
  for (const text of ['', 'gwk_live_', `${known.key}x`, known.key.toUpperCase()]) {
    expect(directory.find(text)).toBeNull();
  }
  expect(queries).toBe(before);
});

test('a key in use is refreshed in the background before it expires', async () => {
  await directory.find(known.key);
  now += 1_050;
  expect(directory.find(known.key)).not.toBeInstanceOf(Promise);
  await turn();
  expect(queries).toBe(2);
  await answered;
  await turn();
  now += 1_500;
  expect(directory.find(known.key)).not.toBeInstanceOf(Promise);
});

test('an unused key is queried again after two seconds', async () => {
  await directory.find(known.key);
  now += 2_000;
  const found = directory.find(known.key);
  expect(found).toBeInstanceOf(Promise);
  await found;
});

test('notes the last use of a key at most once a minute, in the statement that looks it up', async () => {
  const { key, hash } = newApiKey();
  const id = newUuid();
  await db.apiKey.create({ data: { id, accountId, name: '', hash: new Uint8Array(hash), scopes: [] } });
  const readUse = async () => (await db.apiKey.findUniqueOrThrow({ where: { id } })).lastUsedAt;
  const lookUp = () => {
    directory.clear();
    return directory.find(key);
  };
  expect(await readUse()).toBeNull();
  await lookUp();
  const first = await readUse();
  expect(first).toBeInstanceOf(Date);
  await lookUp();
  expect(await readUse()).toEqual(first);
  const longAgo = new Date(Date.now() - 61_000);
  await db.apiKey.update({ where: { id }, data: { lastUsedAt: longAgo } });
  await lookUp();
  expect((await readUse())!.getTime()).toBeGreaterThan(longAgo.getTime());
  expect(queries).toBe(3);
  await db.apiKey.update({ where: { id }, data: { lastUsedAt: longAgo, revokedAt: new Date() } });
  expect(await lookUp()).toBeNull();
  expect(await readUse()).toEqual(longAgo);
});

test('a lookup waits for no lock on the row of its key', async () => {
  const { key, hash } = newApiKey();
  const id = newUuid();
  await db.apiKey.create({ data: { id, accountId, name: '', hash: new Uint8Array(hash), scopes: [] } });
  await db.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT id FROM api_keys WHERE id = ${id}::uuid FOR UPDATE`;
    expect(await directory.find(key)).not.toBeNull();
  });
});
