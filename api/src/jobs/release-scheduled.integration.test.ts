import type { ActiveHours } from '../policy/policy.js';
import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { releaseAt, releaseScheduledJob, type DueMessage } from './release-scheduled.js';

const HOUR = 3_600_000;
const hours: ActiveHours = { start: '09:00', end: '18:00', timezone: 'UTC', outside: 'schedule' };
const open = new Date('2026-05-04T09:00:00Z');
const closed = new Date('2026-05-04T18:00:30Z');
const nextOpening = new Date('2026-05-05T09:00:00Z');

describe('when a due scheduled message is released', () => {
  const due: DueMessage = { now: open, hours, isGroup: false, lastWroteAt: null };
  test.each<[string, Partial<DueMessage>, Date | null]>([
    ['in its window: now', {}, null],
    ['late, with the window closed again: at the next opening', { now: closed }, nextOpening],
    ['late, with a policy that would now refuse it: at the next opening', { now: closed, hours: { ...hours, outside: 'reject' } }, nextOpening], // prettier-ignore
    ['late, after the policy lost its window: now', { now: closed, hours: null }, null],
    ['late, to a recipient who wrote meanwhile: now', { now: closed, lastWroteAt: new Date(closed.getTime() - HOUR) }, null], // prettier-ignore
    ['late, to a recipient who wrote long ago: at the next opening', { now: closed, lastWroteAt: new Date(closed.getTime() - 25 * HOUR) }, nextOpening], // prettier-ignore
    ['late, to a group: now', { now: closed, isGroup: true }, null],
  ])('%s', (_label, values, expected) => {
    expect(releaseAt({ ...due, ...values })).toEqual(expected);
  });
});

describe('the release job', () => {
  let given: JobWorld;
  beforeAll(async () => {
    given = await createJobWorld();
  });
  afterAll(() => given.world.close());

  const timeOfDay = (offsetHours: number) =>
    new Date(Date.now() + offsetHours * HOUR).toISOString().slice(11, 16);
  /** A window whose start is in two hours. */
  const laterWindow = () => ({
    start: timeOfDay(2),
    end: timeOfDay(3),
    timezone: 'UTC',
    outside: 'schedule',
  });
  const addSchedulingInstance = () => given.world.addInstance({ policy: { active_hours: laterWindow() } });
  const makeDue = (instanceId: string) =>
    given.world.database.outboxEntry.updateMany({
      where: { instanceId, state: 'scheduled' },
      data: { releaseAt: new Date(Date.now() - 1_000) },
    });
  const openWindow = (id: string) =>
    given.world.database.instance.update({ where: { id }, data: { policy: {} } });
  const job = () => releaseScheduledJob(given.deps, {});

  test('queues messages in the order of acceptance, behind those that wait already, and notifies for heads', async () => {
    const instance = await addSchedulingInstance();
    const scheduled: string[] = [];
    for (let i = 0; i < 5; i++) scheduled.push(await given.accept(instance));
    const other = await given.accept(instance, { to: '5511944440001' });
    expect((await given.queue(instance)).every(({ state }) => state === 'scheduled')).toBe(true);
    expect(await job().pass()).toEqual({ amount: 0, more: false });

    await openWindow(instance);
    const direct = await given.accept(instance); // neither delays the others nor waits for them
    await makeDue(instance);
    await given.world.redis.del(given.world.keys.sends(instance));
    const passes = await Promise.all([job().pass(), job().pass()]);
    expect(passes.map(({ amount }) => amount).sort()).toEqual([0, 6]);

    const queue = await given.queue(instance);
    const inOrder = queue.filter(({ messageId }) => messageId !== other);
    expect(inOrder.map(({ messageId }) => messageId)).toEqual([direct, ...scheduled]);
    expect(inOrder.map(({ head }) => head)).toEqual([true, false, false, false, false, false]);
    expect(queue.find(({ messageId }) => messageId === other)).toMatchObject({
      head: true,
      state: 'waiting',
    });
    expect(await given.notifications(instance)).toEqual([other]);
    const afterwards = await given.accept(instance);
    expect(
      (await given.queue(instance)).filter(({ messageId }) => messageId !== other).at(-1)!.messageId,
    ).toBe(afterwards);
  });

  test('moves a late message to the next opening, with a new version', async () => {
    const instance = await addSchedulingInstance();
    const message = await given.accept(instance);
    const before = await given.world.database.message.findUniqueOrThrow({ where: { id: message } });
    await makeDue(instance);
    expect((await job().pass()).amount).toBe(1);
    const after = await given.world.database.message.findUniqueOrThrow({ where: { id: message } });
    expect(after.scheduledFor!.getTime()).toBeGreaterThan(Date.now() + HOUR);
    expect(after.version).toBe(before.version + 1);
    const [entry] = await given.world.database.outboxEntry.findMany({ where: { instanceId: instance } });
    expect(entry).toMatchObject({ state: 'scheduled', seq: null, releaseAt: after.scheduledFor });
    expect((await job().pass()).amount).toBe(0);
  });

  test('starts the time to expiry at release: waiting for the window does not count', async () => {
    const instance = await addSchedulingInstance();
    const message = await given.accept(instance);
    const since = Date.now();
    await given.world.database.instance.update({
      where: { id: instance },
      data: {
        state: 'disconnected',
        stateChangedAt: new Date(since - HOUR),
        offlineMs: BigInt(2 * HOUR),
        policy: {},
      },
    });
    await makeDue(instance);
    await job().pass();
    const entry = await given.world.database.outboxEntry.findUniqueOrThrow({ where: { messageId: message } });
    expect(Number(entry.offlineMsAtStart)).toBeGreaterThanOrEqual(3 * HOUR);
    expect(Number(entry.offlineMsAtStart)).toBeLessThanOrEqual(3 * HOUR + Date.now() - since);
  });
});
