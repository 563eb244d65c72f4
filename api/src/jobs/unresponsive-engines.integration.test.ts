import { newUuid } from '@gwk/core/ids';
import type { InstanceState } from '@gwk/core/states';
import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { HeartbeatLiveness } from '../instances/availability/heartbeat-liveness.js';
import { PrometheusLiveness } from '../instances/availability/prometheus-liveness.js';
import { Observer } from './observer.js';
import {
  createLivenessReader,
  unresponsiveEnginesJob,
  unresponsiveSince,
  type EndedLease,
  type LivenessReader,
} from './unresponsive-engines.js';

const LEASE = 45_000;
const now = new Date('2026-05-04T12:00:00Z');
const ago = (ms: number, from = now): Date => new Date(from.getTime() - ms);

describe('whether an engine is silent', () => {
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
    ['its lease ended unrenewed: since its last renewal', {}, healthy, lease.renewedAt],
    ['the same, of one that was connecting', { state: 'connecting' }, healthy, lease.renewedAt],
    ['its lease goes on: no', { expiresAt: ago(-1) }, healthy, null],
    ['it is shown as out already: no', { state: 'disconnected' }, healthy, null],
    ['it is logged out: no', { state: 'logged_out' }, healthy, null],
    ['it is banned: no', { state: 'banned' }, healthy, null],
    ['it was never paired: no', { state: 'pending_pair' }, healthy, null],
    ['the observer came a lease ago and no more: nobody can tell', {}, LEASE, null],
    [
      'the observer has just come: nobody can tell',
      { renewedAt: ago(LEASE * 10), expiresAt: ago(LEASE * 9) },
      0,
      null,
    ],
    ['its lease was given back a moment ago: another takes over', { holder: null }, healthy, null],
    [
      'its lease was given back and no other came: since then',
      { holder: null, expiresAt: ago(LEASE + 1) },
      healthy,
      ago(LEASE + 1),
    ],
    ['the same, before a new observer', { holder: null, expiresAt: ago(LEASE * 9) }, LEASE, null],
  ])('%s', (_sentence, values, healthyForMs, expected) => {
    expect(unresponsiveSince({ ...lease, ...values }, healthyForMs)).toEqual(expected);
  });
});

describe('an observer', () => {
  let clock = 0;
  const look = (observer: Observer, ms: number, fails = false) => {
    clock += ms;
    const seen = observer.observe(async () => {
      if (fails) throw new Error('away');
      return 'seen';
    });
    return fails ? expect(seen).rejects.toThrow('away') : seen;
  };

  test('is healthy from its first look on', async () => {
    const observer = new Observer(() => clock);
    expect(observer.healthyForMs()).toBe(0);
    await look(observer, 0);
    await look(observer, 3_000);
    await look(observer, 3_000);
    expect(observer.healthyForMs()).toBe(6_000);
  });

  test('begins anew after a look that failed', async () => {
    const observer = new Observer(() => clock);
    await look(observer, 0);
    await look(observer, 1_000, true);
    expect(observer.healthyForMs()).toBe(0);
    await look(observer, 1_000);
    await look(observer, 2_000);
    expect(observer.healthyForMs()).toBe(2_000);
  });

  test('begins anew after a time in which it did not look', async () => {
    const observer = new Observer(() => clock);
    await look(observer, 0);
    await look(observer, 5_001);
    expect(observer.healthyForMs()).toBe(0);
  });

  test('begins anew after a look that took long', async () => {
    const observer = new Observer(() => clock);
    await look(observer, 0);
    await observer.observe(async () => (clock += 6_000));
    expect(observer.healthyForMs()).toBe(0);
  });
});

const nobodySaw: LivenessReader = () => Promise.resolve(new Map());

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
  /** An observer that has looked for twice a lease. */
  async function patientObserver(): Promise<Observer> {
    let clock = 0;
    const observer = new Observer(() => (clock += 1_000));
    for (let i = 0; i < 50; i++) await observer.observe(async () => undefined);
    return observer;
  }
  const ended = () => ({
    renewedAt: ago(LEASE + 500, new Date()),
    expiresAt: ago(500, new Date()),
  });
  const stateOf = async (id: string) => {
    const row = await given.world.database.instance.findUniqueOrThrow({ where: { id } });
    return { state: row.state, reason: row.stateReason };
  };

  test('writes the state since the last renewal, with interval, clock and event, once for all workers', async () => {
    const lease = ended();
    const id = await instanceWithLease('connected', lease);
    const passes = await Promise.all(
      [await patientObserver(), await patientObserver()].map((observer) =>
        unresponsiveEnginesJob(given.deps, observer, nobodySaw).pass(),
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
    expect((await unresponsiveEnginesJob(given.deps, await patientObserver(), nobodySaw).pass()).amount).toBe(
      0,
    );
  });

  test('waits until it has looked for longer than a lease', async () => {
    const id = await instanceWithLease('connected', ended());
    expect((await unresponsiveEnginesJob(given.deps, new Observer(), nobodySaw).pass()).amount).toBe(0);
    expect(await stateOf(id)).toEqual({ state: 'connected', reason: null });
    await unresponsiveEnginesJob(given.deps, await patientObserver(), nobodySaw).pass();
    expect(await stateOf(id)).toEqual({ state: 'disconnected', reason: 'engine_silent' });
  });

  const heartbeat = async (id: string, beat: Record<string, unknown>) =>
    given.world.redis.set(given.world.keys.heartbeat(id), JSON.stringify({ epoch: 2, pod: 'p', ...beat }));

  test('takes heartbeats for signs: when it was last connected, and that it lives and cannot be heard', async () => {
    const lease = ended();
    const [dead, alive, older] = await Promise.all(
      [1, 2, 3].map(() => instanceWithLease('connected', lease)),
    );
    const after = (ms: number) => new Date(lease.renewedAt.getTime() + ms).toISOString();
    await heartbeat(dead!, { state: 'connected', since: after(-9_000), at: after(7_000) });
    await heartbeat(alive!, { state: 'disconnected', since: after(40_000), at: after(44_000) });
    await heartbeat(older!, { epoch: 1, state: 'connected', since: after(-9_000), at: after(7_000) });
    const { redis, keys } = given.world;
    const read = createLivenessReader(new HeartbeatLiveness(redis, keys), { log: given.deps.log });
    await unresponsiveEnginesJob(given.deps, await patientObserver(), read).pass();
    const rows = await given.world.database.instance.findMany({
      where: { id: { in: [dead!, alive!, older!] } },
    });
    const seen = new Map(rows.map((row) => [row.id, [row.stateReason, row.stateChangedAt.toISOString()]]));
    expect(seen.get(dead!)).toEqual(['engine_silent', after(7_000)]);
    expect(seen.get(alive!)).toEqual(['lease_unconfirmed', after(40_000)]);
    expect(seen.get(older!)).toEqual(['engine_silent', after(0)]);
  });

  test('remembers a heartbeat that is gone before its lease has ended, and forgets it with the suspicion', async () => {
    const renewedAt = ago(20_000, new Date());
    const id = await instanceWithLease('connected', {
      renewedAt,
      expiresAt: ago(20_000 - LEASE, new Date()),
    });
    const at = new Date(renewedAt.getTime() + 5_000).toISOString();
    await heartbeat(id, { state: 'connected', since: at, at });
    const { redis, keys, database } = given.world;
    const source = new HeartbeatLiveness(redis, keys);
    const job = unresponsiveEnginesJob(
      given.deps,
      await patientObserver(),
      createLivenessReader(source, { log: given.deps.log }),
    );
    expect((await job.pass()).amount).toBe(0);
    await redis.del(keys.heartbeat(id));
    await database.instanceLease.update({
      where: { instanceId: id },
      data: { expiresAt: ago(1, new Date()) },
    });
    const suspect = [{ instanceId: id, epoch: 2, renewedAt }];
    expect((await source.read(suspect)).get(id)?.alive.toISOString()).toBe(at);
    expect((await source.read([{ ...suspect[0]!, epoch: 3 }])).size).toBe(0);
  });

  test('goes by the leases alone while the source of signs is away, and says so once', async () => {
    const lease = ended();
    const id = await instanceWithLease('connected', lease);
    const told: unknown[] = [];
    const log = { ...given.deps.log, warn: (...words: unknown[]) => void told.push(words) };
    const reads: [string, boolean][] = [];
    const nobody = new PrometheusLiveness('http://127.0.0.1:1/');
    const onRead = (source: string, ok: boolean) => void reads.push([source, ok]);
    const read = createLivenessReader(nobody, { log: log as never, onRead });
    const job = unresponsiveEnginesJob(given.deps, await patientObserver(), read);
    const suspects = [
      { ...lease, instanceId: id, epoch: 2, holder, state: 'connected' as const, now: new Date() },
    ];
    await read(suspects, suspects);
    await job.pass();
    expect(await stateOf(id)).toEqual({ state: 'disconnected', reason: 'engine_silent' });
    expect(told).toHaveLength(1);
    expect(reads).toContainEqual(['prometheus', false]);
  });

  test.each<[string, () => Record<string, unknown>]>([
    ['was renewed meanwhile', () => ({ expiresAt: ago(-LEASE, new Date()), renewedAt: new Date() })],
    ['was taken by another engine meanwhile', () => ({ epoch: 3, holder: newUuid() })],
  ])('writes nothing where the lease %s', async (_sentence, values) => {
    const id = await instanceWithLease('connected', ended());
    const observer = await patientObserver();
    const meanwhile = {
      healthyForMs: () => observer.healthyForMs(),
      observe: async <T>(look: () => Promise<T>): Promise<T> => {
        const seen = await observer.observe(look);
        await given.world.database.instanceLease.update({ where: { instanceId: id }, data: values() });
        return seen;
      },
    };
    await unresponsiveEnginesJob(given.deps, meanwhile, nobodySaw).pass();
    expect(await stateOf(id)).toEqual({ state: 'connected', reason: null });
  });
});
