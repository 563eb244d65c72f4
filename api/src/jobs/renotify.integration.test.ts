import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { until } from '@gwk/test/support/wait';
import { renotifyJob } from './waiting-messages.js';

let given: JobWorld;
beforeAll(async () => {
  given = await createJobWorld();
});
afterAll(() => given.world.close());

/** Used instead of five seconds, so that a slow machine does not reach it. */
const RENOTIFY_AFTER_MS = 3_600_000;
const pass = () => renotifyJob(given.deps, RENOTIFY_AFTER_MS).pass();
const ago = (ms: number): Date => new Date(Date.now() - ms);
const setWaitingMs = (instanceId: string, ms: number) =>
  given.world.database.outboxEntry.updateMany({ where: { instanceId }, data: { headSince: ago(ms) } });
const loseNotifications = (instance: string) => given.world.redis.del(given.world.keys.sends(instance));
/**
 * Ignores late notifications for other messages. The second notification for one message comes a moment
 * later.
 */
const notificationsFor = async (instance: string, messageIds: string[]) =>
  (await given.notifications(instance)).filter((messageId) => messageIds.includes(messageId));

test('notifies again for a head that waits long, once per period, when Redis lost the notification', async () => {
  const instance = await given.world.addInstance();
  const [head] = [await given.accept(instance), await given.accept(instance)];
  await loseNotifications(instance);
  await setWaitingMs(instance, RENOTIFY_AFTER_MS / 2);
  expect((await pass()).amount).toBe(0);
  await setWaitingMs(instance, RENOTIFY_AFTER_MS + 1);
  const passes = await Promise.all([pass(), pass()]);
  expect(passes.map(({ amount }) => amount).sort()).toEqual([0, 1]);
  expect(await notificationsFor(instance, [head])).toEqual([head]);
  expect((await pass()).amount).toBe(0);
  await given.world.database.outboxEntry.updateMany({
    where: { instanceId: instance },
    data: { notifiedAt: ago(RENOTIFY_AFTER_MS + 1) },
  });
  await pass();
  await until(async () => (await notificationsFor(instance, [head])).length === 2, {
    what: 'a second notification',
  });
});

test('notifies for the five oldest conversations only, because one notified engine claims all', async () => {
  const instance = await given.world.addInstance();
  await Promise.all(
    Array.from({ length: 30 }, (_, i) => given.accept(instance, { to: `55119333${10_000 + i}` })),
  );
  await loseNotifications(instance);
  await setWaitingMs(instance, RENOTIFY_AFTER_MS + 1);
  expect((await pass()).amount).toBe(5);
  expect((await pass()).amount).toBe(0);
  const notified = await given.world.database.outboxEntry.findMany({
    where: { instanceId: instance, notifiedAt: { not: null } },
  });
  expect(notified).toHaveLength(5);
  const notifications = await notificationsFor(
    instance,
    notified.map(({ messageId }) => messageId),
  );
  expect(notifications.length).toBeGreaterThan(0);
});

test.each([
  ['a disconnected instance', { state: 'disconnected' }],
  ['a deleted instance', { deletedAt: new Date() }],
])('does not notify %s', async (_label, values) => {
  const instance = await given.world.addInstance();
  await given.accept(instance);
  await given.world.database.instance.update({ where: { id: instance }, data: values });
  await loseNotifications(instance);
  await setWaitingMs(instance, RENOTIFY_AFTER_MS + 1);
  await pass();
  expect(await given.notifications(instance)).toEqual([]);
});

test.each([
  ['being sent', { state: 'claimed' }],
  ['still being prepared', { prepared: false }],
])('does not notify for a message that is %s', async (_label, values) => {
  const instance = await given.world.addInstance();
  const messageId = await given.accept(instance);
  await given.world.database.outboxEntry.update({ where: { messageId }, data: values });
  await loseNotifications(instance);
  await setWaitingMs(instance, RENOTIFY_AFTER_MS + 1);
  await pass();
  expect(await given.notifications(instance)).toEqual([]);
});
