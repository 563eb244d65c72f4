import {
  sharedInternalApi,
  readRefusal,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { SessionBound } from './session-bound.js';

let internalApi: InternalApiWorld;
let engine: TestEngine;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
beforeEach(async () => {
  engine = await (await internalApi.addEngine()).acquire();
});
afterAll(() => internalApi.close());

const bytes = (text: string) => Buffer.from(text).toString('base64');
const write = (...entries: [string, string, string | null][]) =>
  engine.call('session-write', {
    entries: entries.map(([type, key, value]) => ({
      type,
      key,
      value: value === null ? null : bytes(value),
    })),
  });
const read = async (...wanted: [string, string[] | null][]) => {
  const answer = await engine.call('session-read', {
    wanted: wanted.map(([type, keys]) => ({ type, keys })),
  });
  return Object.fromEntries(
    answer.entries.map(({ type, key, value }) => [
      `${type}/${key}`,
      Buffer.from(value!, 'base64').toString(),
    ]),
  );
};

test('reads keys by type and by name', async () => {
  await write(['creds', 'me', 'c'], ['session', 'a', '1'], ['session', 'b', '2'], ['pre-key', 'a', '3']);
  expect(await read(['session', null])).toEqual({ 'session/a': '1', 'session/b': '2' });
  expect(await read(['session', ['b', 'none']], ['pre-key', ['a', 'b']])).toEqual({
    'session/b': '2',
    'pre-key/a': '3',
  });
  expect(await read(['creds', null], ['session', ['a']])).toEqual({ 'creds/me': 'c', 'session/a': '1' });
  expect(await read(['none', null])).toEqual({});
  expect(await read()).toEqual({});
});

test('a write replaces, removes and adds keys together; the last value of a key wins', async () => {
  await write(['session', 'a', '1'], ['session', 'b', '2']);
  await write(['session', 'a', null], ['session', 'b', '3'], ['session', 'c', '4'], ['session', 'b', '5']);
  expect(await read(['session', null])).toEqual({ 'session/b': '5', 'session/c': '4' });
});

test('a write that arrives after later ones neither replaces nor restores a key', async () => {
  const first = { entries: [{ type: 'session', key: 'a', value: bytes('1') }] };
  await engine.call('session-write', first);
  const { number } = engine;
  await write(['session', 'a', '2']);
  await engine.repeat('session-write', first, number);
  expect(await read(['session', null])).toEqual({ 'session/a': '2' });
  await write(['session', 'a', null]);
  await engine.repeat('session-write', first, number);
  expect(await read(['session', null])).toEqual({});
});

test('stores the keys of a first pairing in one write', async () => {
  const entries = Array.from({ length: 812 }, (_, i): [string, string, string] => [
    'pre-key',
    String(i),
    `key ${i}`,
  ]);
  await write(...entries);
  expect(Object.keys(await read(['pre-key', null]))).toHaveLength(812);
});

test('concurrent writes that share keys all finish', async () => {
  const keys = Array.from({ length: 30 }, (_, i) => `k${i}`);
  const shuffled = () => [...keys].sort(() => Math.random() - 0.5);
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      write(...shuffled().map((key): [string, string, string] => ['s', key, `${n}`])),
    ),
  );
  expect(new Set(Object.values(await read(['s', null])))).toEqual(new Set(['19']));
});

test('stores session keys encrypted for their instance', async () => {
  await write(['creds', 'me', 'secret of the number']);
  const [row] = await internalApi.world.database.sessionKey.findMany({
    where: { instanceId: engine.instanceId },
  });
  expect(Buffer.from(row!.valueSealed).toString('latin1')).not.toContain('secret');
  const other = await (await internalApi.addEngine()).acquire();
  await internalApi.world.database.sessionKey.update({
    where: { instanceId_type_key: { instanceId: engine.instanceId, type: 'creds', key: 'me' } },
    data: { instanceId: other.instanceId },
  });
  await expect(other.call('session-read', { wanted: [{ type: 'creds', keys: null }] })).rejects.toThrow(
    /503/,
  );
});

const value = (size: number) => Buffer.alloc(size).toString('base64');
const fill = (from: number, keys: number, size: number) =>
  engine.call('session-write', {
    entries: Array.from({ length: keys }, (_, i) => ({
      type: 'session',
      key: `k${from + i}`,
      value: value(size),
    })),
  });
/** Another replica, whose limit is 8 MB and 16,000 keys. */
const useSmallLimit = async () => {
  const url = await internalApi.addReplica({ maxSessionMb: 8 });
  const client = internalApi.clientWith(engine.token, url);
  engine = Object.assign(Object.create(engine) as TestEngine, { client });
};

describe('a session at its limit', () => {
  beforeEach(useSmallLimit);

  test('grows no further in bytes, and nothing of a refused write is stored', async () => {
    await fill(0, 4, 1024 * 1024);
    await fill(4, 3, 1024 * 1024);
    expect(await readRefusal(fill(7, 2, 1024 * 1024))).toBe('session-full');
    const where = { instanceId: engine.instanceId };
    expect(await internalApi.world.database.sessionKey.count({ where })).toBe(7);
  });

  test('may replace its keys for ever, and remove them', async () => {
    for (let i = 0; i < 12; i++) await fill(0, 3, 1024 * 1024);
    await fill(3, 4, 1024 * 1024);
    expect(await readRefusal(fill(7, 1, 1024 * 1024))).toBe('session-full');
    await write(['session', 'k0', null], ['session', 'k1', null]);
    await fill(7, 1, 1024 * 1024);
  });

  test('grows no further in keys', async () => {
    for (let i = 0; i < 4; i++) await fill(4_000 * i, 4_000, 1);
    expect(await readRefusal(fill(16_000, 1, 1))).toBe('session-full');
  });
});

test('reads a large session in parts, each key once', async () => {
  for (let i = 0; i < 3; i++) await fill(10 * i, 10, 100_000);
  const wanted = [{ type: 'session', keys: null }];
  const first = await engine.call('session-read', { wanted });
  expect([first.entries.length, first.more]).toEqual([11, true]);
  const read = [...first.entries];
  for (let more = true; more;) {
    const { type, key } = read.at(-1)!;
    const next = await engine.call('session-read', { wanted, after: { type, key } });
    read.push(...next.entries);
    more = next.more === true;
  }
  expect(read.map(({ key }) => key)).toEqual(Array.from({ length: 30 }, (_, i) => `k${i}`).toSorted());
});

test('a value that is larger than a part is read alone', async () => {
  await fill(0, 2, 2_000_000);
  const { entries, more } = await engine.call('session-read', {
    wanted: [{ type: 'session', keys: ['k0', 'k1'] }],
  });
  expect([entries.length, more]).toEqual([1, true]);
});

test('measures a session again only when the count since the last time exceeds the limit', async () => {
  let measured = 0;
  const bound = new SessionBound(
    { $queryRaw: () => Promise.resolve([{ bytes: BigInt(1_000_000 * measured++), keys: 1n }]) } as never,
    8,
  );
  for (let i = 0; i < 10; i++) await bound.count('i', { bytes: 1_000_000, keys: 1 });
  expect(measured).toBe(2);
});
