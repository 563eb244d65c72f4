import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { until } from '@gwk/test/support/wait';
import { renotifyJob } from './renotify.js';

let given: JobWorld;
beforeAll(async () => {
  given = await createJobWorld();
});
afterAll(() => given.world.close());

/** In place of five seconds, so that a slow machine does not reach it. */
const PATIENCE = 3_600_000;
const pass = () => renotifyJob(given.deps, PATIENCE).pass();
const ago = (ms: number): Date => new Date(Date.now() - ms);
const waitedFor = (instanceId: string, ms: number) =>
  given.world.database.outboxEntry.updateMany({ where: { instanceId }, data: { headSince: ago(ms) } });
const forget = (instance: string) => given.world.redis.del(given.world.keys.sends(instance));
/** An instance rests after a bell: that of another message may still come, and the second for one comes a moment later. */
const bellsFor = async (instance: string, messageIds: string[]) =>
  (await given.notifications(instance)).filter((bell) => messageIds.includes(bell));

test('a head that waited for long is rung again where Redis lost the bell, and not twice within that time', async () => {
  const instance = await given.world.addInstance();
  const [head] = [await given.accept(instance), await given.accept(instance)];
  await forget(instance);
  await waitedFor(instance, PATIENCE / 2);
  expect((await pass()).amount).toBe(0);
  await waitedFor(instance, PATIENCE + 1);
  const passes = await Promise.all([pass(), pass()]);
  expect(passes.map(({ amount }) => amount).sort()).toEqual([0, 1]);
  expect(await bellsFor(instance, [head])).toEqual([head]);
  expect((await pass()).amount).toBe(0);
  await given.world.database.outboxEntry.updateMany({
    where: { instanceId: instance },
    data: { notifiedAt: ago(PATIENCE + 1) },
  });
  await pass();
  await until(async () => (await bellsFor(instance, [head])).length === 2, { what: 'it is rung again' });
});

test('of many waiting conversations the oldest few are rung: an engine that hears one claims all', async () => {
  const instance = await given.world.addInstance();
  await Promise.all(
    Array.from({ length: 30 }, (_, i) => given.accept(instance, { to: `55119333${10_000 + i}` })),
  );
  await forget(instance);
  await waitedFor(instance, PATIENCE + 1);
  expect((await pass()).amount).toBe(5);
  expect((await pass()).amount).toBe(0);
  const told = await given.world.database.outboxEntry.findMany({
    where: { instanceId: instance, notifiedAt: { not: null } },
  });
  expect(told).toHaveLength(5);
  const bells = await bellsFor(
    instance,
    told.map(({ messageId }) => messageId),
  );
  expect(bells.length).toBeGreaterThan(0);
});

test.each([
  ['an instance that is out', { state: 'disconnected' }],
  ['a deleted instance', { deletedAt: new Date() }],
])('%s is not rung', async (_sentence, values) => {
  const instance = await given.world.addInstance();
  await given.accept(instance);
  await given.world.database.instance.update({ where: { id: instance }, data: values });
  await forget(instance);
  await waitedFor(instance, PATIENCE + 1);
  await pass();
  expect(await given.notifications(instance)).toEqual([]);
});

test.each([
  ['being sent', { state: 'claimed' }],
  ['still being prepared', { prepared: false }],
])('what is %s is not rung for', async (_sentence, values) => {
  const instance = await given.world.addInstance();
  const messageId = await given.accept(instance);
  await given.world.database.outboxEntry.update({ where: { messageId }, data: values });
  await forget(instance);
  await waitedFor(instance, PATIENCE + 1);
  await pass();
  expect(await given.notifications(instance)).toEqual([]);
});
