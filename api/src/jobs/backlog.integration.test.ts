import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { lowestUuidAt, newUuid } from '@gwk/core/ids/ids';
import { until } from '@gwk/test/support/wait';
import { openDatabase } from '../database/database.js';
import { postgresReaders, readBacklog, watchEventHorizon } from './backlog.js';
import { WorkerMetrics } from './metrics.js';

let at: JobWorld;
let began: number;
beforeAll(async () => {
  at = await createJobWorld();
});
afterAll(() => at.world.close());
beforeEach(async () => {
  const { db } = at.deps;
  await db.$transaction([
    db.outboxEntry.deleteMany(),
    db.messageContent.deleteMany(),
    db.webhookQueueEntry.deleteMany(),
    db.webhookEndpoint.deleteMany(),
    db.instance.updateMany({ data: { deletedAt: new Date() } }),
    db.account.updateMany({ data: { suspendedAt: null } }),
  ]);
  began = Date.now();
});

const KEEPING = { messageDays: 90, eventDays: 60, deliveryDays: 30, contentHours: 24 };
/** No caller times out. */
const TIMES = { freshMs: 0, timeoutMs: 600_000, maxAgeMs: 600_000 };
const read = () => readBacklog(at.deps.db, KEEPING);
/** A time before `now`, which may come from the fixed clock of a transaction. */
const ago = (seconds: number, now = Date.now()) => new Date(now - seconds * 1000);

/** Expects an age that was `seconds` at some time since the test began. */
function expectAge(actual: number, seconds: number): void {
  expect(actual).toBeGreaterThanOrEqual(seconds - 0.01);
  expect(actual).toBeLessThanOrEqual(seconds + (Date.now() - began) / 1000 + 0.01);
}

test('reads 0 for everything where nothing waits', async () => {
  expect(await read()).toMatchObject({
    sends: { scheduled: 0, waiting: 0, claimed: 0 },
    sendAge: 0,
    sendStalledAge: 0,
    scheduledLate: 0,
    preparationAge: 0,
    deliveries: 0,
    deliveryAge: { healthy: 0, failing: 0 },
    endpoints: { enabled: 0, failing: 0, disabled_by_owner: 0, disabled_by_gwk: 0 },
    instancesDown: 0,
    retentionLate: 0,
    partitionsExpired: 0,
  });
});

test('reports the age of the oldest message that may leave, not of one that waits for its instance, its turn or its file', async () => {
  const { world, deps } = at;
  const [connected, disconnected] = [await world.addInstance(), await world.addInstance()];
  await deps.db.instance.update({ where: { id: disconnected }, data: { state: 'disconnected' } });
  await deps.db.instance.update({ where: { id: connected }, data: { state: 'connected' } });
  const may = await at.accept(connected);
  for (const instance of [disconnected, disconnected]) await at.accept(instance);
  const unprepared = await at.accept(connected);
  await deps.db.outboxEntry.updateMany({ data: { headSince: ago(500) } });
  await deps.db.outboxEntry.update({ where: { messageId: may }, data: { headSince: ago(100) } });
  await deps.db.outboxEntry.update({
    where: { messageId: unprepared },
    data: { prepared: false, createdAt: ago(900) },
  });
  const backlog = await read();
  expect(backlog.sends).toEqual({ scheduled: 0, waiting: 4, claimed: 0 });
  expectAge(backlog.sendAge, 100);
  expectAge(backlog.preparationAge, 900);
});

describe('an instance whose oldest message has been due for ten minutes', () => {
  const STALLED = 600;
  const stalled = async () => (await read()).sendStalledAge;

  async function due(data: object = {}): Promise<string> {
    const instance = await at.world.addInstance();
    await wait(await at.accept(instance));
    const connected = { state: 'connected', stateChangedAt: ago(2000), ...data };
    await at.deps.db.instance.update({ where: { id: instance }, data: connected });
    return instance;
  }
  const wait = (messageId: string, data: object = {}) =>
    at.deps.db.outboxEntry.update({ where: { messageId }, data: { headSince: ago(600), ...data } });
  const addEvent = (instanceId: string, type: string, seconds: number) =>
    at.deps.db.event.create({
      data: {
        id: lowestUuidAt(ago(seconds).getTime()),
        accountId: at.world.accountId,
        instanceId,
        type,
        timestamp: ago(seconds),
        dataSealed: Buffer.alloc(0),
      },
    });

  test('has stalled for ten minutes if it has sent nothing since', async () => {
    const instance = await due();
    await addEvent(instance, 'message.sent', 900);
    expectAge(await stalled(), STALLED);
  });

  test('has stalled since its last sent message, whatever other events it emitted', async () => {
    const instance = await due();
    await addEvent(instance, 'message.sent', 300);
    await addEvent(instance, 'message.received', 20);
    await addEvent(instance, 'message.failed', 10);
    expectAge(await stalled(), 300);
  });

  test('has stalled since its last claim of a message that it holds', async () => {
    const instance = await due();
    for (const seconds of [500, 40])
      await wait(await at.accept(instance), {
        state: 'claimed',
        claimId: newUuid(),
        claimEpoch: 1,
        claimHolder: newUuid(),
        claimedAt: ago(seconds),
      });
    expectAge(await stalled(), 40);
  });

  test('has stalled since it connected again after a disconnect', async () => {
    await due({ stateChangedAt: ago(120) });
    expectAge(await stalled(), 120);
  });

  test('is reported while other instances work off a campaign', async () => {
    const busy = await due();
    await addEvent(busy, 'message.sent', 1);
    expectAge(await stalled(), 1);
    await due();
    expectAge(await stalled(), STALLED);
  });

  test('is reported as one hour where it is longer', async () => {
    const instance = await due({ stateChangedAt: ago(90_000) });
    await at.deps.db.outboxEntry.updateMany({
      where: { instanceId: instance },
      data: { headSince: ago(9000) },
    });
    expect(await stalled()).toBe(3600);
  });

  test.each([
    ['it is disconnected', { state: 'disconnected' }, {}],
    ['it is deleted', { deletedAt: ago(1) }, {}],
    ['the file of the message is not prepared', {}, { prepared: false }],
    ['the message is not the next of its conversation', {}, { head: false }],
  ])('does not count where %s', async (_, instance, entry) => {
    await due(instance);
    await at.deps.db.outboxEntry.updateMany({ data: entry });
    expect(await stalled()).toBe(0);
  });

  test('does not count while its account is suspended', async () => {
    await due();
    await at.deps.db.account.update({ where: { id: at.world.accountId }, data: { suspendedAt: ago(1) } });
    expect(await stalled()).toBe(0);
  });
});

describe('an instance', () => {
  const row = { state: 'disconnected', stateChangedAt: ago(301), firstConnectedAt: ago(9000) };

  async function make(
    data: object,
    connectedSecondsAgo: number | null,
    suspendedSecondsAgo: number | null = null,
    now = Date.now(),
  ): Promise<void> {
    const { world, deps } = at;
    const id = await world.addInstance();
    await deps.db.instance.update({ where: { id }, data: { ...row, ...data } });
    const span = { instanceId: id, since: ago(9000) };
    const endedAt = connectedSecondsAgo === null ? null : ago(connectedSecondsAgo, now);
    const connected = { ...span, state: 'connected', endedAt };
    await deps.db.instanceState.create({ data: { id: newUuid(), ...connected } });
    if (suspendedSecondsAgo === null) return;
    const resumedAt = ago(suspendedSecondsAgo, now);
    await deps.db.instanceSuspension.create({ data: { id: newUuid(), ...span, endedAt: resumedAt } });
  }

  /** The clock of Postgres is fixed within a transaction, however long the work takes. */
  const atOneTime = (work: (now: number, readDown: () => Promise<number>) => Promise<void>) =>
    at.deps.db.$transaction(
      async (tx) => {
        const [row] = await tx.$queryRaw<
          [{ ms: number }]
        >`SELECT extract(epoch FROM now())::float8 * 1000 AS ms`;
        await work(row.ms, async () => (await readBacklog(tx, KEEPING)).instancesDown);
      },
      { timeout: 600_000 },
    );

  test.each([
    ['counts as down after more than five minutes disconnected', {}, 301, 1],
    ['counts as down while it keeps reconnecting', { stateChangedAt: ago(2) }, 301, 1],
    ['counts as down without a recorded connection', {}, null, 1],
    ['does not count after less than five minutes', {}, 299, 0],
    ['does not count while suspended', { suspended: true }, 301, 0],
    ['does not count if it was never connected', { firstConnectedAt: null }, 301, 0],
    ['does not count once deleted', { deletedAt: ago(1) }, 301, 0],
    ['does not count while connected', { state: 'connected' }, 301, 0],
    ['does not count while it waits to be paired', { state: 'pending_pair' }, 301, 0],
    ['does not count once logged out, which has its own alert', { state: 'logged_out' }, 301, 0],
    ['does not count once banned, which has its own alert', { state: 'banned' }, 301, 0],
  ])('%s', async (_, data, connectedSecondsAgo, down) => {
    await atOneTime(async (now, readDown) => {
      await make(data, connectedSecondsAgo, null, now);
      expect(await readDown()).toBe(down);
    });
  });

  test('does not count until five minutes after it was resumed', async () => {
    await atOneTime(async (now, readDown) => {
      await make({}, 8000, 299, now);
      expect(await readDown()).toBe(0);
      await make({}, 8000, 301, now);
      expect(await readDown()).toBe(1);
    });
  });

  test('is counted by its state', async () => {
    for (const data of [{ state: 'connected' }, {}, { deletedAt: ago(1) }]) await make(data, 301);
    expect((await read()).instances).toMatchObject({ connected: 1, disconnected: 1, banned: 0 });
  });
});

/**
 * Adds an endpoint with deliveries that were due the given seconds ago; negative values are in the future.
 */
async function addEndpoint(data: object, ...dueAgo: number[]): Promise<void> {
  const { accountId } = at.world;
  const endpointId = newUuid();
  const url = 'https://example.org';
  await at.deps.db.webhookEndpoint.create({
    data: { id: endpointId, accountId, url, eventTypes: [], ...data },
  });
  for (const seconds of dueAgo)
    await at.deps.db.webhookQueueEntry.create({
      data: { deliveryId: newUuid(), eventId: newUuid(), endpointId, dueAt: ago(seconds) },
    });
}

describe('webhook endpoints', () => {
  const FAILING = { failingSince: ago(7200) };

  test('are counted by who disabled them, and by whether they fail', async () => {
    for (const data of [{}, { enabled: false }, { enabled: false, disabledReason: 'gone' }])
      await addEndpoint(data);
    await addEndpoint(FAILING, 100);
    await addEndpoint(FAILING, -3600);
    // It failed once, and no queued delivery could fail again.
    await addEndpoint(FAILING);
    expect((await read()).endpoints).toEqual({
      enabled: 2,
      failing: 2,
      disabled_by_owner: 1,
      disabled_by_gwk: 1,
    });
  });

  test.each([
    ['a delivery due to an endpoint that answers', {}, [300, 20], { healthy: 300, failing: 0 }],
    ['a delivery not yet due', {}, [-300], { healthy: 0, failing: 0 }],
    ['a delivery held back from a failing endpoint', FAILING, [-60, 300, 20], { healthy: 0, failing: 300 }],
    ['a delivery queued for a disabled endpoint', { enabled: false }, [300], { healthy: 0, failing: 300 }],
  ])('%s has the expected age', async (_, data, dueAgo, late) => {
    await addEndpoint(data, ...dueAgo);
    await addEndpoint({}, 20);
    const { healthy, failing } = (await read()).deliveryAge;
    expectAge(healthy, late.healthy || 20);
    if (late.failing > 0) expectAge(failing, late.failing);
    else expect(failing).toBe(0);
  });
});

describe('content that was to be deleted ten minutes ago', () => {
  test.each([
    [24, 'is overdue by ten minutes', 600],
    [72, 'is kept for two more days', 0],
    [0, 'is overdue by one more day where no content is kept', 86_400 + 600],
  ])('with content kept for %s hours, %s', async (contentHours, _, late) => {
    await at.accept(await at.world.addInstance());
    await at.deps.db.messageContent.updateMany({ data: { deleteAt: ago(600) } });
    const backlog = await readBacklog(at.deps.db, { ...KEEPING, contentHours });
    if (late > 0) expectAge(backlog.retentionLate, late);
    else expect(backlog.retentionLate).toBe(0);
  });

  test.each([
    [600, 0],
    [-600, 600],
  ])(
    'content to be deleted in a day and %s s is overdue by %s s where no content is kept',
    async (seconds, late) => {
      await at.accept(await at.world.addInstance());
      await at.deps.db.messageContent.updateMany({ data: { deleteAt: ago(-86_400 - seconds) } });
      const backlog = await readBacklog(at.deps.db, { ...KEEPING, contentHours: 0 });
      if (late > 0) expectAge(backlog.retentionLate, late);
      else expect(backlog.retentionLate).toBe(0);
    },
  );
});

test('a scheduled message is overdue by the time since its release time', async () => {
  const id = await at.accept(await at.world.addInstance());
  const scheduled = (seconds: number) =>
    at.deps.db.outboxEntry.update({
      where: { messageId: id },
      data: { state: 'scheduled', seq: null, head: false, releaseAt: ago(seconds) },
    });
  await scheduled(-300);
  expect((await read()).scheduledLate).toBe(0);
  await scheduled(300);
  expectAge((await read()).scheduledLate, 300);
});

test('counts expired partitions by the retention of each table', async () => {
  await at.deps.db.$queryRaw`
    SELECT gwk_ensure_partitions(parent, (now() AT TIME ZONE 'UTC')::date - 62, (now() AT TIME ZONE 'UTC')::date - 59)
    FROM unnest(ARRAY['messages', 'events', 'webhook_deliveries']) AS parent`;
  expect((await read()).partitionsExpired).toBe(0 + 2 + 4);
});

test('counts for how long one writing transaction holds the events back, and no reading one', async () => {
  const { db } = at.deps;
  let now = 0;
  const read = watchEventHorizon(db, () => now);
  const readAfter = (seconds: number) => ((now += seconds * 1000), read());
  const options = { timeout: 600_000 };
  await db.$transaction(async (tx) => {
    const [own] = await tx.$queryRaw<[{ xid: string }]>`SELECT pg_current_xact_id()::text AS xid`;
    await db.$executeRaw`SELECT pg_current_xact_id()`;
    // Transactions of other tests may be older for a moment.
    const isOldest = async () => {
      const [row] = await db.$queryRaw<
        [{ xid: string }]
      >`SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xid`;
      return row.xid === own.xid;
    };
    await until(isOldest, { what: 'it is the oldest' });
    expect([await readAfter(100), await readAfter(300), await readAfter(60)]).toEqual([0, 300, 360]);
  }, options);
  expect(await readAfter(100)).toBe(0);
  await db.$transaction(async (tx) => {
    await tx.$executeRaw`SELECT 1`;
    await db.$executeRaw`SELECT pg_current_xact_id()`;
    await until(async () => (await readAfter(100), (await readAfter(100)) === 0), {
      what: 'the reading transaction is not counted',
    });
  }, options);
});

test('without Postgres the gauges read Nan, also those read before', async () => {
  let readers = postgresReaders(at.deps.db, KEEPING, TIMES);
  const metrics = new WorkerMetrics({
    inFlight: () => 3,
    fullAccounts: () => Promise.resolve([]),
    backlog: () => readers.backlog(),
    databaseBytes: () => readers.databaseBytes(),
    eventsHeld: () => readers.eventsHeld(),
  });
  const before = await metrics.registry.metrics();
  expect(before).toContain('gwk_send_queue_messages{state="waiting"} 0\n');
  expect(before).toMatch(/gwk_database_size_bytes [1-9]/);
  const unreachable = openDatabase({
    url: 'postgresql://nobody@127.0.0.1:1/none',
    poolSize: 1,
    program: 'gwk-test',
  });
  readers = postgresReaders(unreachable, KEEPING, TIMES);
  const text = await metrics.registry.metrics();
  expect(text).toContain('gwk_send_queue_messages{state="waiting"} Nan\n');
  expect(text).toContain('gwk_send_queue_age_seconds Nan\n');
  expect(text).toContain('gwk_database_size_bytes Nan\n');
  expect(text).toContain('gwk_events_held_seconds Nan\n');
  expect(text).toContain('gwk_webhook_calls_in_flight 3\n');
  await unreachable.$disconnect();
});

test('serves metrics that need no lock while a table is locked', async () => {
  const { db } = at.deps;
  const metrics = new WorkerMetrics({
    inFlight: () => 3,
    fullAccounts: () => Promise.resolve([]),
    ...postgresReaders(db, KEEPING, TIMES),
    backlog: postgresReaders(db, KEEPING, { ...TIMES, timeoutMs: 1 }).backlog,
  });
  const text = await db.$transaction(
    async (tx) => {
      await tx.$executeRaw`LOCK TABLE outbox`;
      return metrics.registry.metrics();
    },
    { timeout: 600_000 },
  );
  expect(text).toMatch(/gwk_database_size_bytes [1-9]/);
  expect(text).toContain('gwk_send_queue_age_seconds Nan\n');
  expect(text).toContain('gwk_webhook_calls_in_flight 3\n');
});

test('a job is overdue from when its next pass should have succeeded', async () => {
  let now = 0;
  const unknown = async () => null;
  const readers = { backlog: unknown, databaseBytes: unknown, eventsHeld: unknown, fullAccounts: unknown };
  const nothing = { inFlight: () => 0, ...readers };
  const metrics = new WorkerMetrics(nothing, () => now);
  const overdue = async (): Promise<number> => {
    const text = await metrics.registry.getSingleMetricAsString('gwk_worker_job_overdue_seconds');
    return Number(/\{job_name="release"\} (.*)/.exec(text)?.[1]);
  };
  metrics.expects('release', 500);
  expect(await overdue()).toBe(0);
  now = 60_500;
  expect(await overdue()).toBe(60);
  metrics.passed('release', false, 0);
  expect(await overdue()).toBe(60);
  metrics.passed('release', true, 0);
  expect(await overdue()).toBe(0);
  now = 61_000;
  expect(await overdue()).toBe(0);
  now = 62_000;
  expect(await overdue()).toBe(1);
});
