import { DeliveryWorld } from '../../support/api/deliveries.js';
import { realTime, until } from '../../support/wait.js';

let world: DeliveryWorld;
beforeAll(async () => {
  world = await DeliveryWorld.create();
});
afterAll(() => world.close());

test('a stopping worker waits 10 s for its calls, not for their timeout of 60 s', async () => {
  const target = await world.startReceiver(() => undefined);
  const { id } = await world.addEndpoint(target.url);
  await world.emit(5);
  const worker = await world.startWorker({ GWK_WORKER_WEBHOOK_TIMEOUT_MS: '60000' });
  await until(() => target.posts.length === 5, { what: 'five calls are in flight' });
  const start = performance.now();
  await worker.stop();
  const took = performance.now() - start;
  expect(took).toBeGreaterThan(9_900);
  expect(took).toBeLessThan(realTime(30_000));
  const left = await world.inQueue(id);
  expect(left.map(({ attempts, lockedBy }) => ({ attempts, lockedBy }))).toEqual(
    Array.from({ length: 5 }, () => ({ attempts: 0, lockedBy: null })),
  );
});
