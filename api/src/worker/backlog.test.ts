import { createSweepWorld, type SweepWorld } from '@gwk/test/harness/sweeps';
import { newUuid } from '@gwk/core/ids';
import { openDatabase } from '../database.js';
import { backlogReader, databaseSizeReader, readBacklog } from './backlog.js';
import { WorkerMetrics } from './metrics.js';

let at: SweepWorld;
beforeEach(async () => {
  at = await createSweepWorld();
});
afterEach(() => at.world.close());

const DAYS_KEPT = { messageDays: 90, eventDays: 60, deliveryDays: 30 };
const read = () => readBacklog(at.deps.db, DAYS_KEPT);
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);

test('where nothing waits everything is 0', async () => {
  expect(await read()).toMatchObject({
    sends: { scheduled: 0, waiting: 0, claimed: 0 },
    sendAge: 0,
    preparationAge: 0,
    deliveries: 0,
    deliveryAge: 0,
    endpoints: { enabled: 0, disabled_by_owner: 0, disabled_by_gwk: 0 },
    instancesDown: 0,
    retentionLate: 0,
    partitionsExpired: 0,
  });
});

test('the oldest message that may leave is told, not one that waits for its number, its turn or its file', async () => {
  const { world, deps } = at;
  const [here, away] = [await world.addInstance(), await world.addInstance()];
  await deps.db.instance.update({ where: { id: away }, data: { state: 'disconnected' } });
  await deps.db.instance.update({ where: { id: here }, data: { state: 'connected' } });
  const may = await at.accept(here);
  for (const instance of [away, away]) await at.accept(instance);
  const unprepared = await at.accept(here);
  await deps.db.outboxEntry.updateMany({ data: { turnAt: ago(500) } });
  await deps.db.outboxEntry.update({ where: { messageId: may }, data: { turnAt: ago(100) } });
  await deps.db.outboxEntry.update({
    where: { messageId: unprepared },
    data: { prepared: false, createdAt: ago(900) },
  });
  const seen = await read();
  expect(seen.sends).toEqual({ scheduled: 0, waiting: 4, claimed: 0 });
  expect(Math.round(seen.sendAge / 10)).toBe(10);
  expect(Math.round(seen.preparationAge / 10)).toBe(90);
});

describe('an instance is down', () => {
  const row = { state: 'disconnected', stateChangedAt: ago(301), firstConnectedAt: ago(9000) };

  async function make(data: object, connectedUntil: Date | null, suspendedUntil?: Date): Promise<void> {
    const { world, deps } = at;
    const id = await world.addInstance();
    await deps.db.instance.update({ where: { id }, data: { ...row, ...data } });
    const span = { instanceId: id, since: ago(9000) };
    const connected = { ...span, state: 'connected', endedAt: connectedUntil };
    await deps.db.instanceState.create({ data: { id: newUuid(), ...connected } });
    if (!suspendedUntil) return;
    await deps.db.instanceSuspension.create({ data: { id: newUuid(), ...span, endedAt: suspendedUntil } });
  }

  test.each([
    ['that is out for over five minutes', {}, ago(301), 1],
    ['that tries again and again', { stateChangedAt: ago(2) }, ago(301), 1],
    ['of which no connection is remembered', {}, null, 1],
    ['but not yet after less', {}, ago(290), 0],
    ['but not one that is suspended', { suspended: true }, ago(301), 0],
    ['but not one that was never connected', { firstConnectedAt: null }, ago(301), 0],
    ['but not one that is deleted', { deletedAt: ago(1) }, ago(301), 0],
    ['but not one that is connected', { state: 'connected' }, ago(301), 0],
    ['but not one that somebody has to pair', { state: 'pending_pair' }, ago(301), 0],
    ['but not one that was logged out, which is told apart', { state: 'logged_out' }, ago(301), 0],
    ['but not one that is banned, which is told apart', { state: 'banned' }, ago(301), 0],
  ])('%s', async (_, data, connectedUntil, down) => {
    await make(data, connectedUntil);
    expect((await read()).instancesDown).toBe(down);
  });

  test('not before five minutes after it was resumed', async () => {
    await make({}, ago(8000), ago(290));
    expect((await read()).instancesDown).toBe(0);
    await make({}, ago(8000), ago(301));
    expect((await read()).instancesDown).toBe(1);
  });

  test('and instances are counted by their state', async () => {
    for (const data of [{ state: 'connected' }, {}, { deletedAt: ago(1) }]) await make(data, ago(301));
    expect((await read()).instances).toMatchObject({ connected: 1, disconnected: 1, banned: 0 });
  });
});

test('destinations are told apart by who has disabled them, and content that has outlived its time is late', async () => {
  const { world, deps } = at;
  const instance = await world.addInstance();
  const { accountId } = await deps.db.instance.findUniqueOrThrow({ where: { id: instance } });
  for (const data of [{}, { enabled: false }, { enabled: false, disabledReason: 'gone' }])
    await deps.db.webhookEndpoint.create({
      data: { id: newUuid(), accountId, url: 'https://example.org', eventTypes: [], ...data },
    });
  await at.accept(instance);
  await deps.db.messageContent.updateMany({ data: { deleteAt: ago(600) } });
  const seen = await read();
  expect(seen.endpoints).toEqual({ enabled: 1, disabled_by_owner: 1, disabled_by_gwk: 1 });
  expect(Math.round(seen.retentionLate / 10)).toBe(60);
});

test('days whose time is over are counted, each table by its own', async () => {
  await at.deps.db.$queryRaw`
    SELECT gwk_ensure_partitions(parent, (now() AT TIME ZONE 'UTC')::date - 62, (now() AT TIME ZONE 'UTC')::date - 59)
    FROM unnest(ARRAY['messages', 'events', 'webhook_deliveries']) AS parent`;
  expect((await read()).partitionsExpired).toBe(0 + 2 + 4);
});

test('without Postgres the gauges say that nobody knows, those seen before included', async () => {
  let backlog = backlogReader(at.deps.db, DAYS_KEPT);
  let databaseBytes = databaseSizeReader(at.deps.db);
  const metrics = new WorkerMetrics({
    inFlight: () => 3,
    backlog: () => backlog(),
    databaseBytes: () => databaseBytes(),
  });
  const before = await metrics.registry.metrics();
  expect(before).toContain('gwk_send_queue_messages{state="waiting"} 0\n');
  expect(before).toMatch(/gwk_database_size_bytes [1-9]/);
  const gone = openDatabase({
    url: 'postgresql://nobody@127.0.0.1:1/none',
    poolSize: 1,
    program: 'gwk-test',
  });
  backlog = backlogReader(gone, DAYS_KEPT);
  databaseBytes = databaseSizeReader(gone);
  const text = await metrics.registry.metrics();
  expect(text).toContain('gwk_send_queue_messages{state="waiting"} Nan\n');
  expect(text).toContain('gwk_send_queue_age_seconds Nan\n');
  expect(text).toContain('gwk_database_size_bytes Nan\n');
  expect(text).toContain('gwk_webhook_calls_in_flight 3\n');
  await gone.$disconnect();
});

test('one look serves whoever asks within ten seconds', async () => {
  const backlog = backlogReader(at.deps.db, DAYS_KEPT);
  expect(await backlog()).toBe(await backlog());
});
