import { createSweepWorld, type SweepWorld } from '@gwk/test/support/api/sweeps';
import { ringAgainSweep } from './ring-again.js';

let given: SweepWorld;
beforeAll(async () => {
  given = await createSweepWorld();
});
afterAll(() => given.world.close());

const ago = (ms: number): Date => new Date(Date.now() - ms);
const waitedFor = (instanceId: string, ms: number) =>
  given.world.database.outboxEntry.updateMany({ where: { instanceId }, data: { turnAt: ago(ms) } });
const forget = (instance: string) => given.world.redis.del(given.world.keys.sends(instance));
/** An instance rests after a bell: that of another message may still come, and the second for one comes a moment later. */
const bellsFor = async (instance: string, messageIds: string[]) =>
  (await given.bells(instance)).filter((bell) => messageIds.includes(bell));

test('a head that waited 5 seconds is rung again where Redis lost the bell, and not twice within 5 seconds', async () => {
  const instance = await given.world.addInstance();
  const [head] = [await given.accept(instance), await given.accept(instance)];
  await forget(instance);
  await waitedFor(instance, 1_000);
  expect((await ringAgainSweep(given.deps).pass()).amount).toBe(0);
  await waitedFor(instance, 5_100);
  const passes = await Promise.all([ringAgainSweep(given.deps).pass(), ringAgainSweep(given.deps).pass()]);
  expect(passes.map(({ amount }) => amount).sort()).toEqual([0, 1]);
  expect(await bellsFor(instance, [head])).toEqual([head]);
  expect((await ringAgainSweep(given.deps).pass()).amount).toBe(0);
  await given.world.database.outboxEntry.updateMany({
    where: { instanceId: instance },
    data: { rungAt: ago(5_100) },
  });
  await ringAgainSweep(given.deps).pass();
  while ((await bellsFor(instance, [head])).length < 2)
    await new Promise((resolve) => setTimeout(resolve, 1));
});

test('of many waiting conversations the oldest few are rung: an engine that hears one claims all', async () => {
  const instance = await given.world.addInstance();
  await Promise.all(
    Array.from({ length: 30 }, (_, i) => given.accept(instance, { to: `55119333${10_000 + i}` })),
  );
  await forget(instance);
  await waitedFor(instance, 6_000);
  expect((await ringAgainSweep(given.deps).pass()).amount).toBe(5);
  expect((await ringAgainSweep(given.deps).pass()).amount).toBe(0);
  const told = await given.world.database.outboxEntry.findMany({
    where: { instanceId: instance, rungAt: { not: null } },
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
  await waitedFor(instance, 60_000);
  await ringAgainSweep(given.deps).pass();
  expect(await given.bells(instance)).toEqual([]);
});

test.each([
  ['being sent', { state: 'claimed' }],
  ['still being prepared', { prepared: false }],
])('what is %s is not rung for', async (_sentence, values) => {
  const instance = await given.world.addInstance();
  const messageId = await given.accept(instance);
  await given.world.database.outboxEntry.update({ where: { messageId }, data: values });
  await forget(instance);
  await waitedFor(instance, 60_000);
  await ringAgainSweep(given.deps).pass();
  expect(await given.bells(instance)).toEqual([]);
});
