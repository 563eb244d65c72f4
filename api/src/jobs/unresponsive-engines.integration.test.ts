import { newUuid } from '@gwk/core/ids/ids';
import type { InstanceState } from '@gwk/core/states';
import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { heartbeatLiveness } from '../instances/availability/heartbeat-liveness.js';
import { prometheusLiveness } from '../instances/availability/prometheus-liveness.js';
import {
  createLivenessReader,
  Observer,
  unresponsiveEnginesJob,
  unresponsiveSince,
  type EndedLease,
  type LivenessReader,
} from './unresponsive-engines.js';

const LEASE = 45_000;
const now = new Date('2026-05-04T12:00:00Z');
const ago = (ms: number, from = now): Date => new Date(from.getTime() - ms);

describe('whether an engine is unresponsive', () => {
  const lease: EndedLease = {
    instanceId: newUuid(),
    epoch: 3,
    holder: newUuid(),
    state: 'connected',
    renewedAt: ago(LEASE + 1),
    expiresAt: ago(1),
    now,
  };
  const healthy = LEASE + 1;
  test.each<[string, Partial<EndedLease>, number, Date | null]>([
    ['lease ended without renewal: since its last renewal', {}, healthy, lease.renewedAt],
    [
      'lease of a connecting engine ended: since its last renewal',
      { state: 'connecting' },
      healthy,
      lease.renewedAt,
    ],
    ['lease goes on: no', { expiresAt: ago(-1) }, healthy, null],
    ['shown as disconnected already: no', { state: 'disconnected' }, healthy, null],
    ['logged out: no', { state: 'logged_out' }, healthy, null],
    ['banned: no', { state: 'banned' }, healthy, null],
    ['never paired: no', { state: 'pending_pair' }, healthy, null],
    ['observer healthy for one lease only: unknown', {}, LEASE, null],
    ['observer just started: unknown', { renewedAt: ago(LEASE * 10), expiresAt: ago(LEASE * 9) }, 0, null],
    ['lease released a moment ago: another engine may take over', { holder: null }, healthy, null],
    [
      'lease released and not taken over: since the release',
      { holder: null, expiresAt: ago(LEASE + 1) },
      healthy,
      ago(LEASE + 1),
    ],
    ['lease released, observer new: unknown', { holder: null, expiresAt: ago(LEASE * 9) }, LEASE, null],
  ])('%s', (_label, values, healthyForMs, expected) => {
    expect(unresponsiveSince({ ...lease, ...values }, healthyForMs)).toEqual(expected);
  });
});

describe('an observer', () => {
  let clock = 0;
  const observeOnce = (observer: Observer, ms: number, fails = false) => {
    clock += ms;
    const seen = observer.observe(async () => {
      if (fails) throw new Error('unavailable');
      return 'seen';
    });
    return fails ? expect(seen).rejects.toThrow('unavailable') : seen;
  };

  test('is healthy from its first observation on', async () => {
    const observer = new Observer(() => clock);
    expect(observer.healthyForMs()).toBe(0);
    await observeOnce(observer, 0);
    await observeOnce(observer, 3_000);
    await observeOnce(observer, 3_000);
    expect(observer.healthyForMs()).toBe(6_000);
  });

  test('starts over after a failed observation', async () => {
    const observer = new Observer(() => clock);
    await observeOnce(observer, 0);
    await observeOnce(observer, 1_000, true);
    expect(observer.healthyForMs()).toBe(0);
    await observeOnce(observer, 1_000);
    await observeOnce(observer, 2_000);
    expect(observer.healthyForMs()).toBe(2_000);
  });

  test('starts over after a gap without observations', async () => {
    const observer = new Observer(() => clock);
    await observeOnce(observer, 0);
    await observeOnce(observer, 5_001);
    expect(observer.healthyForMs()).toBe(0);
  });

  test('starts over after a slow observation', async () => {
    const observer = new Observer(() => clock);
    await observeOnce(observer, 0);
    await observer.observe(async () => (clock += 6_000));
    expect(observer.healthyForMs()).toBe(0);
  });
});

const noLiveness: LivenessReader = () => Promise.resolve(new Map());

describe('the job', () => {
  let given: JobWorld;
  beforeAll(async () => {
    given = await createJobWorld();
  });
  afterAll(() => given.world.close());

  const holder = newUuid();
  async function instanceWithLease(state: InstanceState, lease: Record<string, unknown>): Promise<string> {
    const { database } = given.world;
    const since = ago(3_600_000, new Date());
    const id = await given.world.addInstance({ state, stateChangedAt: since });
    await database.instanceState.create({ data: { id: newUuid(), instanceId: id, state, since } });
    await database.instanceLease.create({ data: { instanceId: id, epoch: 2, holder, ...lease } });
    return id;
  }
  /** An observer that has observed for twice the lease. */
  async function createHealthyObserver(): Promise<Observer> {
    let clock = 0;
    const observer = new Observer(() => (clock += 1_000));
    for (let i = 0; i < 50; i++) await observer.observe(async () => undefined);
    return observer;
  }
  const ended = () => ({
    renewedAt: ago(LEASE + 500, new Date()),
    expiresAt: ago(500, new Date()),
  });
  const readState = async (id: string) => {
    const row = await given.world.database.instance.findUniqueOrThrow({ where: { id } });
    return { state: row.state, reason: row.stateReason };
  };

  test('writes the state since the last renewal, with interval, offline time and event, once for all workers', async () => {
    const lease = ended();
    const id = await instanceWithLease('connected', lease);
    const passes = await Promise.all(
      [await createHealthyObserver(), await createHealthyObserver()].map((observer) =>
        unresponsiveEnginesJob(given.deps, observer, noLiveness).pass(),
      ),
    );
    expect(passes.map(({ amount }) => amount).sort()).toEqual([0, 1]);
    const row = await given.world.database.instance.findUniqueOrThrow({ where: { id } });
    expect(row).toMatchObject({
      state: 'disconnected',
      stateReason: 'engine_silent',
      stateChangedAt: lease.renewedAt,
      offlineMs: 0n,
      version: 2,
    });
    const intervals = await given.world.database.instanceState.findMany({
      where: { instanceId: id },
      orderBy: { since: 'asc' },
    });
    expect(intervals.map(({ state, since, endedAt }) => ({ state, since, endedAt })).slice(1)).toEqual([
      { state: 'disconnected', since: lease.renewedAt, endedAt: null },
    ]);
    expect(intervals[0]).toMatchObject({ state: 'connected', endedAt: lease.renewedAt });
    expect(await given.events(id)).toMatchObject([
      { type: 'instance.disconnected', data: { reason: 'engine_silent' } },
    ]);
    expect(
      (await unresponsiveEnginesJob(given.deps, await createHealthyObserver(), noLiveness).pass()).amount,
    ).toBe(0);
  });

  test('waits until it has observed for longer than a lease', async () => {
    const id = await instanceWithLease('connected', ended());
    expect((await unresponsiveEnginesJob(given.deps, new Observer(), noLiveness).pass()).amount).toBe(0);
    expect(await readState(id)).toEqual({ state: 'connected', reason: null });
    await unresponsiveEnginesJob(given.deps, await createHealthyObserver(), noLiveness).pass();
    expect(await readState(id)).toEqual({ state: 'disconnected', reason: 'engine_silent' });
  });

  const heartbeat = async (id: string, alive: Date, connected: Date, epoch = 2) => {
    const { redis, keys } = given.world;
    await redis.set(keys.alive(id, epoch), String(alive.getTime()));
    await redis.set(keys.connected(id, epoch), String(connected.getTime()));
  };

  test('reads heartbeats: the last connected time of a dead engine, and that a live one is cut off', async () => {
    const lease = ended();
    const [dead, alive, older] = await Promise.all(
      [1, 2, 3].map(() => instanceWithLease('connected', lease)),
    );
    const after = (ms: number) => new Date(lease.renewedAt.getTime() + ms);
    await heartbeat(dead!, after(7_000), after(7_000));
    await heartbeat(alive!, after(44_000), after(40_000));
    await heartbeat(older!, after(7_000), after(7_000), 1);
    const { redis, keys } = given.world;
    const read = createLivenessReader(heartbeatLiveness(redis, keys), given.deps.log);
    await unresponsiveEnginesJob(given.deps, await createHealthyObserver(), read).pass();
    const rows = await given.world.database.instance.findMany({
      where: { id: { in: [dead!, alive!, older!] } },
    });
    const seen = new Map(rows.map((row) => [row.id, [row.stateReason, row.stateChangedAt.toISOString()]]));
    expect(seen.get(dead!)).toEqual(['engine_silent', after(7_000).toISOString()]);
    expect(seen.get(alive!)).toEqual(['lease_unconfirmed', after(40_000).toISOString()]);
    expect(seen.get(older!)).toEqual(['engine_silent', after(0).toISOString()]);
  });

  test('remembers a heartbeat that Redis lost before the lease ended, for that epoch only', async () => {
    const renewedAt = ago(20_000, new Date());
    const id = await instanceWithLease('connected', {
      renewedAt,
      expiresAt: ago(20_000 - LEASE, new Date()),
    });
    const at = new Date(renewedAt.getTime() + 5_000);
    await heartbeat(id, at, at);
    const { redis, keys, database } = given.world;
    const source = heartbeatLiveness(redis, keys);
    const job = unresponsiveEnginesJob(
      given.deps,
      await createHealthyObserver(),
      createLivenessReader(source, given.deps.log),
    );
    expect((await job.pass()).amount).toBe(0);
    await redis.del([keys.alive(id, 2), keys.connected(id, 2)]);
    await database.instanceLease.update({
      where: { instanceId: id },
      data: { expiresAt: ago(1, new Date()) },
    });
    const suspects = [{ instanceId: id, epoch: 2, renewedAt }];
    expect((await source.read(suspects)).get(id)?.alive).toEqual(at);
    expect((await source.read([{ ...suspects[0]!, epoch: 3 }])).size).toBe(0);
  });

  test('decides by leases alone while the liveness source is unavailable, and logs that once', async () => {
    const lease = ended();
    const id = await instanceWithLease('connected', lease);
    const warnings: unknown[] = [];
    const log = { ...given.deps.log, warn: (...words: unknown[]) => void warnings.push(words) };
    const reads: [string, boolean][] = [];
    const unreachable = prometheusLiveness('http://127.0.0.1:1/');
    const onRead = (source: string, ok: boolean) => void reads.push([source, ok]);
    const read = createLivenessReader(unreachable, log as never, onRead);
    const job = unresponsiveEnginesJob(given.deps, await createHealthyObserver(), read);
    const suspects = [
      { ...lease, instanceId: id, epoch: 2, holder, state: 'connected' as const, now: new Date() },
    ];
    await read(suspects, suspects);
    await job.pass();
    expect(await readState(id)).toEqual({ state: 'disconnected', reason: 'engine_silent' });
    expect(warnings).toHaveLength(1);
    expect(reads).toContainEqual(['prometheus', false]);
  });

  test.each<[string, () => Record<string, unknown>]>([
    ['was renewed meanwhile', () => ({ expiresAt: ago(-LEASE, new Date()), renewedAt: new Date() })],
    ['was taken by another engine meanwhile', () => ({ epoch: 3, holder: newUuid() })],
  ])('writes nothing where the lease %s', async (_label, values) => {
    const id = await instanceWithLease('connected', ended());
    const observer = await createHealthyObserver();
    const meanwhile = {
      healthyForMs: () => observer.healthyForMs(),
      observe: async <T>(read: () => Promise<T>): Promise<T> => {
        const seen = await observer.observe(read);
        await given.world.database.instanceLease.update({ where: { instanceId: id }, data: values() });
        return seen;
      },
    };
    await unresponsiveEnginesJob(given.deps, meanwhile, noLiveness).pass();
    expect(await readState(id)).toEqual({ state: 'connected', reason: null });
  });
});
