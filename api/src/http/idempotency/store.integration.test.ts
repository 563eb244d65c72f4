import { randomBytes } from 'node:crypto';
import { newUuid } from '@gwk/core/ids/ids';
import { Sealer } from '@gwk/core/crypto/encryption';
import { createTestDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import { openDatabase, type Database } from '../../database/database.js';
import {
  hashBodyWithAllKeys,
  IdempotencyStore,
  makeRecordId,
  readIdempotencyKey,
  type BeginResult,
  type Mark,
  type RequestName,
} from './store.js';

let testDatabase: TestDatabase;
let database: Database;
let store: IdempotencyStore;
const sealer = new Sealer([{ id: '0123456789abcdef', key: randomBytes(32) }]);
const accountId = newUuid();

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url, poolSize: 4, program: 'test' });
  store = new IdempotencyStore(database, sealer);
});
afterAll(async () => {
  await database.$disconnect();
  await testDatabase.drop();
});

const request = (given: { key?: string; body?: unknown; route?: string; account?: string } = {}) => ({
  accountId: given.account ?? accountId,
  route: given.route ?? 'POST /v1/instances',
  key: given.key ?? newUuid(),
  ...hashBodyWithAllKeys(sealer, given.account ?? accountId, given.body ?? { name: 'one' }),
  instanceId: null,
});
function readMark(begun: BeginResult): Mark {
  if (begun.kind !== 'fresh' && begun.kind !== 'resumed')
    throw new Error(`expected a mark, got ${begun.kind}`);
  return begun.mark;
}
const expire = (request: RequestName, column: 'lockedUntil' | 'expiresAt') =>
  database.idempotencyRecord.update({
    where: { id: makeRecordId(request) },
    data: { [column]: new Date(Date.now() - 1) },
  });

test('begins the first request and reports repeats as in progress', async () => {
  const given = request();
  expect(await store.begin(given)).toMatchObject({ kind: 'fresh' });
  expect(await store.begin(given)).toEqual({ kind: 'in-progress' });
});

test('replays a stored answer, which is encrypted at rest', async () => {
  const given = request();
  await store.complete(readMark(await store.begin(given)), {
    status: 201,
    body: { id: 'ins_1', secret: 'tulip' },
  });
  expect(await store.begin(given)).toEqual({
    kind: 'replay',
    status: 201,
    body: { id: 'ins_1', secret: 'tulip' },
    instanceId: null,
  });
  const row = await database.idempotencyRecord.findUniqueOrThrow({ where: { id: makeRecordId(given) } });
  expect(Buffer.from(row.responseSealed!).includes('tulip')).toBe(false);
});

test('replays answers that are read at the same moment', async () => {
  const requests = [request(), request()];
  for (const given of requests)
    await store.complete(readMark(await store.begin(given)), { status: 201, body: given.key });
  // No key is free.
  const $queryRaw = () => Promise.resolve([]);
  const busy = { $queryRaw, idempotencyRecord: database.idempotencyRecord } as unknown as Database;
  const reading = new IdempotencyStore(busy, sealer);
  expect(await Promise.all(requests.map((given) => reading.begin(given)))).toMatchObject(
    requests.map(({ key }) => ({ kind: 'replay', body: key })),
  );
});

test('compares bodies regardless of the order of their keys', async () => {
  const key = newUuid();
  await store.complete(readMark(await store.begin(request({ key, body: { a: 1, b: { c: 2, d: 3 } } }))), {
    status: 201,
    body: null,
  });
  expect(await store.begin(request({ key, body: { b: { d: 3, c: 2 }, a: 1 } }))).toMatchObject({
    kind: 'replay',
  });
  expect(await store.begin(request({ key, body: { a: 1 } }))).toEqual({ kind: 'reused' });
});

test('keeps keys apart by account and route', async () => {
  const key = newUuid();
  for (const given of [{ key }, { key, route: 'POST /v1/webhook-endpoints' }, { key, account: newUuid() }]) {
    expect(await store.begin(request(given))).toMatchObject({ kind: 'fresh' });
  }
});

test('frees the key of a refused request', async () => {
  const given = request();
  await store.abandon(readMark(await store.begin(given)));
  expect(await store.begin({ ...given, bodyHash: Buffer.alloc(32) })).toMatchObject({ kind: 'fresh' });
});

test('lets a retry resume with the same id after the lock of a dead owner has expired', async () => {
  const given = request();
  const first = await store.begin(given);
  await expire(given, 'lockedUntil');
  expect(await store.begin({ ...given, bodyHash: Buffer.alloc(32) })).toEqual({ kind: 'reused' });
  expect(await store.begin(given)).toMatchObject({
    kind: 'resumed',
    resourceId: (first as { resourceId: string }).resourceId,
  });
  expect(await store.begin(given)).toEqual({ kind: 'in-progress' });
});

test('lets a request that failed half-way resume at once', async () => {
  const given = request();
  await store.release(readMark(await store.begin(given)));
  expect(await store.begin(given)).toMatchObject({ kind: 'resumed' });
});

test('keeps a late first owner from changing the mark of its successor', async () => {
  const given = request();
  const begun = readMark(await store.begin(given));
  await expire(given, 'lockedUntil');
  // The first mark expired long before the second one was made.
  const { lockedUntil } = await database.idempotencyRecord.findUniqueOrThrow({
    where: { id: begun.recordId },
  });
  const slow = { ...begun, lockedUntil: lockedUntil! };
  const next = readMark(await store.begin(given));
  await store.abandon(slow);
  await store.release(slow);
  expect(await store.begin(given)).toEqual({ kind: 'in-progress' });
  await store.complete(next, { status: 201, body: 'next' });
  await store.complete(slow, { status: 201, body: 'slow' });
  expect(await store.begin(given)).toMatchObject({ kind: 'replay', body: 'next' });
});

test('frees a key after 24 hours for any body', async () => {
  const given = request();
  const first = await store.begin(given);
  await store.complete(readMark(first), { status: 201, body: 'first' });
  await expire(given, 'expiresAt');
  const second = await store.begin({ ...given, bodyHash: Buffer.alloc(32) });
  expect(second).toMatchObject({ kind: 'fresh' });
  expect((second as { resourceId: string }).resourceId).not.toBe(
    (first as { resourceId: string }).resourceId,
  );
});

test('begins one of 100 concurrent requests', async () => {
  const given = request();
  const all = await Promise.all(Array.from({ length: 100 }, () => store.begin(given)));
  expect(all.filter(({ kind }) => kind === 'fresh')).toHaveLength(1);
  expect(all.filter(({ kind }) => kind === 'in-progress')).toHaveLength(99);
});

test('accepts keys of 1 to 255 characters', () => {
  expect(readIdempotencyKey(undefined)).toBeNull();
  expect(readIdempotencyKey('k'.repeat(255))).toHaveLength(255);
  for (const key of ['', 'k'.repeat(256)]) {
    expect(() => readIdempotencyKey(key)).toThrow('invalid-idempotency-key');
  }
});
