import { DeliveryWorld } from '../support/api/deliveries.js';
import type { Environment } from '../support/program.js';
import { realTime, until } from '../support/wait.js';
import { WorkerProcesses } from './worker-process.js';

let world: DeliveryWorld;
let workers: WorkerProcesses;

beforeAll(async () => {
  world = await DeliveryWorld.create();
  workers = new WorkerProcesses(world);
});
afterAll(async () => {
  await workers.close();
  await world.close();
});
afterEach(async () => {
  await workers.stop();
  await world.reset();
});

const startProcess = (settings: Environment = {}) => workers.start(settings);

test('serves liveness, readiness and metrics', async () => {
  const target = await world.startReceiver();
  const { id } = await world.addEndpoint(target.url);
  const { get, program } = await startProcess();
  await world.emit(3);
  await world.finished(id, 3);
  expect(await (await get('/livez')).json()).toEqual({ status: 'ok' });
  expect(await (await get('/readyz')).json()).toMatchObject({ status: 'ok', checks: { postgres: 'ok' } });
  expect((await get('/other')).status).toBe(404);
  await until(
    async () =>
      (await (await get('/metrics')).text()).includes('gwk_webhook_attempts_total{result="succeeded"} 3'),
    { what: 'three attempts are counted' },
  );
  await program.kill('SIGTERM');
  expect(program.deaths).toMatchObject([{ code: 0, signal: null }]);
});

test('takes over the calls of a killed worker, and posts the rest once', async () => {
  let hold = true;
  const target = await world.startReceiver((res) => {
    if (!hold) res.writeHead(200).end();
  });
  const { id } = await world.addEndpoint(target.url);
  const first = await startProcess();
  const events = await world.emit(50);
  await until(() => target.posts.length === 10, {
    what: 'ten calls are in flight',
    timeoutMs: realTime(20_000),
  });
  await first.program.kill('SIGKILL');
  const cutOff = target.counts();
  hold = false;
  await startProcess();
  await world.finished(id, 40);
  // The claims of the killed worker are locked until its calls must have ended. The test skips that time.
  expect((await world.inQueue(id)).every(({ lockedBy }) => lockedBy !== null)).toBe(true);
  await world.db.webhookQueueEntry.updateMany({ data: { lockedUntil: new Date() } });
  await world.finished(id, 50);
  const counts = target.counts();
  expect([...counts.keys()].sort()).toEqual([...events].sort());
  for (const [event, count] of counts) expect(count).toBe(cutOff.has(event) ? 2 : 1);
});

test('a lock lasts for the webhook timeout and 15 s', async () => {
  const target = await world.startReceiver(() => undefined);
  const { id } = await world.addEndpoint(target.url);
  await startProcess({ GWK_WORKER_WEBHOOK_TIMEOUT_MS: '5000' });
  const before = Date.now();
  await world.emit();
  const entry = await until(async () => (await world.inQueue(id)).find(({ lockedBy }) => lockedBy !== null), {
    what: 'the entry is locked',
  });
  const lockedAt = entry.lockedUntil!.getTime() - 20_000;
  expect(lockedAt).toBeGreaterThanOrEqual(before);
  expect(lockedAt).toBeLessThanOrEqual(Date.now());
});

test.each([
  ['an invalid setting', { GWK_WORKER_FORBIDDEN_RANGES: '10.0.0.1' }, 'GWK_WORKER_FORBIDDEN_RANGES'],
  ['an unknown setting', { GWK_WORKER_PROT: '1' }, 'GWK_WORKER_PROT'],
  ['an invalid policy', { GWK_WORKER_POLICY: '{"active_hours": 1}' }, 'GWK_WORKER_POLICY'],
  ['an encryption key of another database', { GWK_ENCRYPTION_KEYS: Buffer.alloc(32).toString('base64') }, 'GWK_ENCRYPTION_KEYS'], // prettier-ignore
])('exits on %s and names the setting', async (_sentence, settings, said) => {
  await startProcess(); // the first one writes the key check
  await expect(startProcess(settings as unknown as Environment)).rejects.toThrow(said);
  expect(workers.last.deaths).toMatchObject([{ code: 2 }]);
});
