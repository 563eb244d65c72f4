import {
  sharedInternalApi,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';

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
