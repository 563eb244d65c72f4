import { createPortWorld, type PortWorld } from '@gwk/test/support/api/engine-port';

let port: PortWorld;
beforeAll(async () => {
  port = await createPortWorld();
});
afterAll(() => port.close());

test('a restriction of the network is kept with its end, and lifted', async () => {
  const engine = await (await port.addEngine()).acquire();
  const kept = async () => {
    const { instanceId: id } = engine;
    return (await port.world.database.instance.findUniqueOrThrow({ where: { id } })).restrictedUntil;
  };
  const until = new Date(Date.now() + 3_600_000);
  await engine.call('restricted', { until: until.toISOString() });
  const first = engine.number;
  expect(await kept()).toEqual(until);
  await engine.call('restricted', { until: null });
  expect(await kept()).toBeNull();
  // The first call, whose answer was late, comes through at last.
  await engine.repeat('restricted', { until: until.toISOString() }, first);
  expect(await kept()).toBeNull();
});
