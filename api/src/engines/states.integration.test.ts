import { newUuid } from '@gwk/core/ids/ids';
import {
  sharedInternalApi,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { openEventData } from '../events/emit.js';

let internalApi: InternalApiWorld;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
afterAll(() => internalApi.close());

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const sandbox = async (): Promise<TestEngine> => {
  const values = {
    kind: 'sandbox',
    state: 'connecting',
    stateChangedAt: minutesAgo(10),
    firstPairedAt: null,
  };
  const engine = await (await internalApi.addEngine(values)).acquire();
  const { instanceId } = engine;
  await internalApi.world.database.instanceState.create({
    data: { id: instanceId, instanceId, state: 'connecting', since: minutesAgo(10) },
  });
  return engine;
};
const instance = (engine: TestEngine) =>
  internalApi.world.database.instance.findUniqueOrThrow({ where: { id: engine.instanceId } });
const intervals = (engine: TestEngine) =>
  internalApi.world.database.instanceState.findMany({
    where: { instanceId: engine.instanceId },
    orderBy: [{ since: 'asc' }, { id: 'asc' }],
  });
const events = async (engine: TestEngine) => {
  const where = { instanceId: engine.instanceId };
  const rows = await internalApi.world.database.event.findMany({ where, orderBy: { id: 'asc' } });
  return rows.map((row) => [
    row.type,
    openEventData(internalApi.world.sealer, row.accountId, row.dataSealed),
  ]);
};
const PAIRED = { jid: '5511900000000@s.whatsapp.net', business_name: 'Loja', platform: 'sandbox' };

test('a sandbox that connects is paired, then connected, in one transaction with its intervals', async () => {
  const engine = await sandbox();
  const at = minutesAgo(4).toISOString();
  const { stateChangedAt: since } = await instance(engine);
  await engine.call('state', {
    changes: [{ state: 'connected', at, reason: null, paired: PAIRED, lid: '7@lid' }],
  });
  const row = await instance(engine);
  expect(row).toMatchObject({
    state: 'connected',
    jid: PAIRED.jid,
    lid: '7@lid',
    businessName: 'Loja',
    version: 2,
  });
  expect(row.stateChangedAt.toISOString()).toBe(at);
  expect(row.firstPairedAt!.toISOString()).toBe(at);
  expect(row.firstConnectedAt!.toISOString()).toBe(at);
  expect(Number(row.offlineMs)).toBe(Date.parse(at) - since.getTime());
  const own = { instance_id: `ins_${engine.instanceId.replaceAll('-', '')}`, timestamp: at };
  expect(await events(engine)).toEqual([
    ['instance.paired', { ...own, ...PAIRED }],
    ['instance.connected', { ...own, jid: PAIRED.jid }],
  ]);
  expect((await intervals(engine)).map(({ state, since, endedAt }) => [state, since, endedAt])).toEqual([
    ['connecting', expect.any(Date), row.stateChangedAt],
    ['connected', row.stateChangedAt, null],
  ]);
});

test('neither a repeated call nor the same change again changes or emits anything', async () => {
  const engine = await sandbox();
  const changes = [
    { state: 'connected' as const, at: minutesAgo(1).toISOString(), reason: null, paired: PAIRED },
  ];
  await engine.call('state', { changes });
  const before = [await instance(engine), await events(engine), await intervals(engine)];
  await engine.repeat('state', { changes }, engine.number);
  expect([await instance(engine), await events(engine), await intervals(engine)]).toEqual(before);
  await engine.call('state', { changes });
  const [row, ...rest] = before as [Awaited<ReturnType<typeof instance>>, unknown, unknown];
  expect([await events(engine), await intervals(engine)]).toEqual(rest);
  expect({ ...(await instance(engine)), updatedAt: null }).toEqual({ ...row, updatedAt: null });
});

test('a change dated before the current state is placed at its start, in order of arrival', async () => {
  const engine = await sandbox();
  const at = (minutes: number) => minutesAgo(minutes).toISOString();
  await engine.call('state', { changes: [{ state: 'connected', at: at(3), reason: null }] });
  await engine.call('state', {
    changes: [
      { state: 'disconnected', at: at(5), reason: 'connection_lost', reconnect: { count: 1, at: at(0) } },
      { state: 'connecting', at: at(1), reason: null },
    ],
  });
  const rows = await intervals(engine);
  expect(rows.map(({ state }) => state)).toEqual(['connecting', 'connected', 'disconnected', 'connecting']);
  expect(rows[2]!.since).toEqual(rows[1]!.since);
  expect(rows.map(({ endedAt }) => endedAt === null)).toEqual([false, false, false, true]);
  expect(await instance(engine)).toMatchObject({ state: 'connecting', reconnectCount: 1 });
});

test('a change that cannot be written leaves no other change of its call', async () => {
  const engine = await sandbox();
  const before = await instance(engine);
  const at = new Date().toISOString();
  const { database } = internalApi.world;
  await database.$executeRaw`
    ALTER TABLE instances ADD CONSTRAINT refuses CHECK (state <> 'banned') NOT VALID`;
  const ban = { code: '402', expires_at: null };
  const impossible = { state: 'banned' as const, at, reason: null, ban };
  const changes = [{ state: 'connected' as const, at, reason: null }, impossible];
  await expect(engine.call('state', { changes })).rejects.toThrow(/503/);
  await database.$executeRaw`ALTER TABLE instances DROP CONSTRAINT refuses`;
  expect(await instance(engine)).toEqual(before);
  expect(await events(engine)).toEqual([]);
  expect(await intervals(engine)).toHaveLength(1);
});

test('applies concurrent calls one by one, and keeps the last reported state', async () => {
  const engine = await sandbox();
  const at = new Date().toISOString();
  const states = ['connected', 'disconnected', 'connected', 'disconnected', 'connecting'] as const;
  await Promise.all(states.map((state) => engine.call('state', { changes: [{ state, at, reason: null }] })));
  const rows = await intervals(engine);
  expect(rows.filter(({ endedAt }) => endedAt === null)).toHaveLength(1);
  const emitted = (await events(engine)).length;
  expect(emitted).toBe(rows.filter(({ state }) => state !== 'connecting').length);
  expect((await instance(engine)).state).toBe('connecting');
});

describe('a call that arrives after its repeat and later calls', () => {
  const disconnected = {
    state: 'disconnected' as const,
    at: minutesAgo(4).toISOString(),
    reason: 'timed_out',
  };
  // The same state again creates no interval.
  const closed = { ...disconnected, at: minutesAgo(3.5).toISOString(), reason: 'connection_closed' };
  const connecting = { state: 'connecting' as const, at: minutesAgo(3).toISOString(), reason: null };
  const reconnected = { state: 'connected' as const, at: minutesAgo(2).toISOString(), reason: null };

  test.each<[string, (typeof disconnected | typeof connecting | typeof reconnected)[][]]>([
    ['with a change', [[disconnected], [connecting, reconnected]]],
    ['with a change without an interval', [[disconnected, closed], [closed], [connecting, reconnected]]],
    ['with all changes', [[disconnected, closed, connecting, reconnected]]],
  ])('changes nothing: %s', async (_name, calls) => {
    const engine = await sandbox();
    const since = minutesAgo(9).toISOString();
    await engine.call('state', {
      changes: [{ state: 'connected', at: since, reason: null, paired: PAIRED }],
    });
    for (const changes of calls) await engine.call('state', { changes });
    const before = [await instance(engine), await events(engine), await intervals(engine)];
    expect(before[0]).toMatchObject({ state: 'connected' });
    for (const [index, changes] of calls.entries()) await engine.repeat('state', { changes }, index + 2);
    expect([await instance(engine), await events(engine), await intervals(engine)]).toEqual(before);
  });

  test('changes nothing where the clock of the engine is behind', async () => {
    const engine = await sandbox();
    const since = minutesAgo(1).toISOString();
    await engine.call('state', {
      changes: [{ state: 'connected', at: since, reason: null, paired: PAIRED }],
    });
    await engine.call('state', { changes: [disconnected] });
    await engine.call('state', { changes: [connecting, reconnected] });
    await engine.repeat('state', { changes: [disconnected] }, 2);
    expect((await instance(engine)).state).toBe('connected');
  });
});

test('ignores a report about a link that is to be unlinked, also when repeated after the unlink', async () => {
  const engine = await sandbox();
  const { database } = internalApi.world;
  const where = { id: engine.instanceId };
  const changes = [{ state: 'connected' as const, at: new Date().toISOString(), reason: null }];
  await database.instance.update({ where, data: { unlinkId: newUuid() } });
  await engine.call('state', { changes });
  await database.instance.update({ where, data: { unlinkId: null } });
  const before = await instance(engine);
  await engine.repeat('state', { changes }, engine.number);
  expect(await instance(engine)).toEqual(before);
});

test('numbers calls by lease: the next lease starts again', async () => {
  const engine = await sandbox();
  const at = () => new Date().toISOString();
  await engine.call('state', { changes: [{ state: 'connected', at: at(), reason: null, paired: PAIRED }] });
  await engine.call('state', { changes: [{ state: 'disconnected', at: at(), reason: 'timed_out' }] });
  await engine.call('release', {});
  await engine.acquire();
  await engine.repeat('state', { changes: [{ state: 'connected', at: at(), reason: null }] }, 1);
  expect((await instance(engine)).state).toBe('connected');
});

test('a failed call is applied when it is repeated', async () => {
  const engine = await sandbox();
  const { database } = internalApi.world;
  const changes = [{ state: 'connected' as const, at: new Date().toISOString(), reason: null }];
  await database.$executeRaw`ALTER TABLE instances ADD CONSTRAINT refuses CHECK (state <> 'connected') NOT VALID`;
  try {
    await expect(engine.call('state', { changes })).rejects.toThrow(/503/);
  } finally {
    await database.$executeRaw`ALTER TABLE instances DROP CONSTRAINT refuses`;
  }
  await engine.repeat('state', { changes }, engine.number);
  expect((await instance(engine)).state).toBe('connected');
});

test('stores a network restriction with its end, and lifts it', async () => {
  const engine = await (await internalApi.addEngine()).acquire();
  const readRestriction = async () => {
    const { instanceId: id } = engine;
    return (await internalApi.world.database.instance.findUniqueOrThrow({ where: { id } })).restrictedUntil;
  };
  const until = new Date(Date.now() + 3_600_000);
  await engine.call('restricted', { until: until.toISOString() });
  const first = engine.number;
  expect(await readRestriction()).toEqual(until);
  await engine.call('restricted', { until: null });
  expect(await readRestriction()).toBeNull();
  // The first call, whose answer was late, arrives now.
  await engine.repeat('restricted', { until: until.toISOString() }, first);
  expect(await readRestriction()).toBeNull();
});
