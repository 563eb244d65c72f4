import { newUuid } from '@gwk/core/ids/ids';
import { trickle, DeliveryWorld } from '@gwk/test/support/api/deliveries';
import { until } from '@gwk/test/support/wait';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const WAIT = { everyMs: 10 };
/** Longer than any test. */
const NEVER_MS = 3_600_000;

let world: DeliveryWorld;
beforeAll(async () => {
  world = await DeliveryWorld.shared();
});
afterEach(() => world.reset());

describe('endpoints', () => {
  test('410 disables the endpoint and fails its queued deliveries', async () => {
    const isDisabled = Promise.withResolvers<void>();
    let calls = 0;
    // The other calls keep their slots until the first has disabled the endpoint, so the rest stays queued.
    const target = await world.startReceiver((res) => {
      const answer = () => void res.writeHead(410).end();
      if (calls++ === 0) answer();
      else void isDisabled.promise.then(answer);
    });
    const { id } = await world.addEndpoint(target.url);
    await world.emit(30);
    await world.startWorker();
    const where = { id, enabled: false };
    await until(() => world.db.webhookEndpoint.findFirst({ where }), { what: 'the endpoint is disabled' });
    isDisabled.resolve();
    const rows = await world.finished(id, 30);
    expect(new Set(rows.map(({ lastError }) => lastError))).toEqual(
      new Set(['answered 410', 'the endpoint was disabled']),
    );
    const row = await world.db.webhookEndpoint.findUniqueOrThrow({ where: { id } });
    expect(row).toMatchObject({ enabled: false, disabledReason: 'gone' });
    expect(row.disabledAt).not.toBeNull();
    expect(target.posts.length).toBeLessThanOrEqual(20);
    expect(await world.inQueue(id)).toEqual([]);
  });

  test('an endpoint that failed for 5 days is disabled by its next failure', async () => {
    const target = await world.startReceiver((res) => res.writeHead(500).end());
    const failingSince = new Date(Date.now() - 5 * DAY);
    const { id } = await world.addEndpoint(target.url, { failingSince, lastFailedAt: new Date() });
    await world.startWorker();
    await world.emit();
    const [row] = await world.finished(id);
    expect(row).toMatchObject({ status: 'failed', lastError: 'answered 500' });
    const endpoint = await world.db.webhookEndpoint.findUniqueOrThrow({ where: { id } });
    expect(endpoint).toMatchObject({ enabled: false, disabledReason: 'failing' });
  });

  test('an endpoint that fails now and then stays enabled', async () => {
    const target = await world.startReceiver((res, _post, nth) =>
      res.writeHead(nth % 2 === 0 ? 200 : 500).end(),
    );
    const failingSince = new Date(Date.now() - 6 * DAY);
    const { id } = await world.addEndpoint(target.url, { failingSince, lastFailedAt: failingSince });
    await world.startWorker();
    await world.emit();
    await world.attempted(id);
    const failing = await world.db.webhookEndpoint.findUniqueOrThrow({ where: { id } });
    expect(failing.enabled).toBe(true);
    expect(failing.failingSince!.getTime()).toBeGreaterThanOrEqual(target.posts[0]!.at);
    await world.makeDue();
    await world.finished(id);
    const healthy = await world.db.webhookEndpoint.findUniqueOrThrow({ where: { id } });
    expect(healthy).toMatchObject({ enabled: true, failingSince: null, lastFailedAt: null });
    expect(healthy.lastError).toBe('answered 500');
    expect(healthy.lastErrorAt!.getTime()).toBeGreaterThanOrEqual(target.posts[0]!.at);
  });

  test('fails queued deliveries of deleted and disabled endpoints', async () => {
    const target = await world.startReceiver();
    const [removed, disabled] = [await world.addEndpoint(target.url), await world.addEndpoint(target.url)];
    await world.emit(1_500);
    await world.db.webhookEndpoint.delete({ where: { id: removed.id } });
    await world.db.webhookEndpoint.update({ where: { id: disabled.id }, data: { enabled: false } });
    await world.startWorker();
    for (const [id, error] of [
      [removed.id, 'the endpoint was deleted'],
      [disabled.id, 'the endpoint was disabled'],
    ] as const) {
      const rows = await world.finished(id, 1_500);
      expect(new Set(rows.map(({ status, lastError }) => `${status} ${lastError}`))).toEqual(
        new Set([`failed ${error}`]),
      );
    }
    expect(target.posts).toHaveLength(0);
    expect(await world.db.webhookQueueEntry.count()).toBe(0);
  });

  test('a narrowed endpoint gets no queued delivery of instances it no longer includes', async () => {
    const [kept, left] = [await world.addInstance(), await world.addInstance()];
    const both = { create: [{ instanceId: kept }, { instanceId: left }] };
    const before = await world.startReceiver((res) => res.writeHead(500).end());
    const { id } = await world.addEndpoint(before.url, { instances: both });
    await world.emit(1, { of: 'kept' }, kept);
    await world.emit(1, { of: 'left' }, left);
    await world.emit(1, { of: 'none' });
    await world.startWorker();
    await until(async () => (await world.deliveries(id)).every(({ attempts }) => attempts === 1), {
      what: 'each delivery has one attempt',
    });

    const after = await world.startReceiver();
    const instances = { delete: { endpointId_instanceId: { endpointId: id, instanceId: left } } };
    await world.db.webhookEndpoint.update({ where: { id }, data: { url: after.url, instances } });
    await world.makeDue();

    const rows = await world.finished(id, 3);
    expect(rows.map(({ status, lastError }) => [status, lastError])).toEqual([
      ['succeeded', null],
      ['failed', 'the endpoint no longer includes this instance'],
      ['succeeded', null],
    ]);
    expect(
      after.posts.map(({ body }) => (JSON.parse(body) as { data: { of: string } }).data.of).sort(),
    ).toEqual(['kept', 'none']);
  });

  test('a manual delivery to a disabled endpoint is posted once', async () => {
    const target = await world.startReceiver((res, _post, nth) => res.writeHead(nth === 1 ? 500 : 200).end());
    const { id } = await world.addEndpoint(target.url);
    await world.emit(2);
    await world.db.webhookEndpoint.update({ where: { id }, data: { enabled: false } });
    await world.startWorker({ GWK_WORKER_WEBHOOK_CONCURRENCY_PER_ENDPOINT: '1' });
    const rows = await world.finished(id, 2);
    for (const row of rows) {
      await world.db.webhookDelivery.update({ where: { id: row.id }, data: { status: 'pending' } });
      await world.db.webhookQueueEntry.create({
        data: { deliveryId: row.id, endpointId: id, eventId: row.eventId, dueAt: new Date() },
      });
    }
    const again = await world.finished(id, 2);
    expect(again.map(({ status }) => status).sort()).toEqual(['failed', 'succeeded']);
    expect(target.posts).toHaveLength(2);
  });

  test('an unresponsive endpoint gets few calls, and its queue once it answers', async () => {
    let dead = true;
    const target = await world.startReceiver((res) => void (dead ? res.destroy() : res.writeHead(200).end()));
    const live = await world.startReceiver();
    const { id } = await world.addEndpoint(target.url);
    const beside = await world.addEndpoint(live.url);
    await world.emit(300);
    await world.startWorker();
    await world.finished(beside.id, 300);
    expect(target.posts.length).toBeLessThan(100);
    dead = false;
    const untouched = { endpointId: id, status: 'succeeded', attempts: 1 };
    await until(async () => (await world.db.webhookDelivery.count({ where: untouched })) > 200, {
      what: 'queued deliveries succeeded with their first attempt',
    });
  });

  test('enabling an endpoint clears its failures', async () => {
    const { id } = await world.addEndpoint('http://127.0.0.1:1/', { failingSince: new Date(0) });
    await world.db.webhookEndpoint.update({
      where: { id },
      data: { enabled: false, disabledReason: 'failing' },
    });
    const row = await world.db.webhookEndpoint.update({ where: { id }, data: { enabled: true } });
    expect(row).toMatchObject({ disabledAt: null, disabledReason: null, failingSince: null });
  });
});

describe('several endpoints', () => {
  /** Calls to bad endpoints outlast the test. */
  const clock = { timeoutMs: NEVER_MS };

  test('four bad endpoints with long queues do not delay a good one', async () => {
    const bad = await Promise.all([
      world.startReceiver(() => undefined),
      world.startReceiver((res) => res.writeHead(200).flushHeaders()),
      world.startReceiver((res) => { res.writeHead(200); trickle(res); }), // prettier-ignore
      world.startReceiver((res) => res.socket!.destroy()),
    ]);
    for (const target of bad) await world.addEndpoint(target.url);
    await world.startWorker({}, clock);
    await world.emit(500);
    await until(() => bad.every(({ posts }) => posts.length >= 10), {
      what: 'the bad endpoints have calls',
      ...WAIT,
    });

    const good = await world.startReceiver();
    const { id } = await world.addEndpoint(good.url);
    await world.emit(200);
    await world.finished(id, 200);
    expect(good.posts).toHaveLength(200);
    expect(bad.slice(0, 3).map(({ posts }) => posts.length)).toEqual([10, 10, 10]);
  });

  test('forty failing endpoints leave slots for the others', async () => {
    const dead = await world.startReceiver(() => undefined);
    for (let i = 0; i < 40; i++) {
      await world.addEndpoint(`${dead.url}/${i}`, { failingSince: new Date(), lastFailedAt: new Date() });
    }
    await world.startWorker({ GWK_WORKER_WEBHOOK_CONCURRENCY: '40' }, clock);
    await world.emit(50);
    await until(() => dead.posts.length >= 20, { what: 'the dead endpoints use their slots', ...WAIT });
    const good = await world.startReceiver();
    const { id } = await world.addEndpoint(good.url);
    await world.emit(50);
    await world.finished(id, 50);
    expect(good.posts).toHaveLength(50);
    expect(dead.posts).toHaveLength(20);
  });

  test('limits concurrent calls per endpoint to the setting', async () => {
    const open: (() => void)[] = [];
    let most = 0;
    let held = true;
    const target = await world.startReceiver((res) => {
      const end = () => void res.writeHead(200).end();
      if (held) most = Math.max(most, open.push(end));
      else end();
    });
    const { id } = await world.addEndpoint(target.url);
    await world.emit(60);
    await world.startWorker({ GWK_WORKER_WEBHOOK_CONCURRENCY_PER_ENDPOINT: '4' }, clock);
    await until(() => open.length >= 4, { what: 'four calls are in flight', ...WAIT });
    // A delivery to a second endpoint proves that the worker polled again.
    const beside = await world.addEndpoint((await world.startReceiver()).url);
    await world.emit();
    await world.finished(beside.id);
    expect(most).toBe(4);
    held = false;
    for (const end of open) end();
    await world.finished(id, 61);
  });
});

describe('several workers', () => {
  test('two workers post each of 1,000 deliveries once', async () => {
    const targets = await Promise.all([1, 2, 3, 4].map(() => world.startReceiver()));
    const ids = await Promise.all(targets.map(async ({ url }) => (await world.addEndpoint(url)).id));
    const events = await world.emit(250);
    await Promise.all([world.startWorker(), world.startWorker()]);
    for (const id of ids) await world.finished(id, 250);
    for (const target of targets) {
      expect(target.posts).toHaveLength(250);
      expect([...target.counts().keys()].sort()).toEqual([...events].sort());
    }
  });

  test('a stopping worker finishes its calls and returns the rest', async () => {
    const open: (() => void)[] = [];
    const target = await world.startReceiver((res) => open.push(() => res.writeHead(200).end()));
    const { id } = await world.addEndpoint(target.url);
    await world.emit(25);
    const worker = await world.startWorker({}, { drainMs: NEVER_MS, timeoutMs: NEVER_MS });
    await until(() => open.length === 10, { what: 'ten calls are in flight', ...WAIT });
    const stopped = worker.stop();
    for (const end of open) end();
    await stopped;
    await world.finished(id, 10);
    const left = await world.inQueue(id);
    expect(left).toHaveLength(15);
    expect(left.every(({ lockedBy }) => lockedBy === null)).toBe(true);
  });

  test('a stopping worker aborts slow calls, whose deliveries are due at once', async () => {
    const target = await world.startReceiver((res, _post, nth) => {
      if (nth > 5) res.writeHead(200).end();
    });
    const { id } = await world.addEndpoint(target.url);
    await world.emit(5);
    const worker = await world.startWorker({}, { drainMs: 1, timeoutMs: NEVER_MS });
    await until(() => target.posts.length === 5, { what: 'five calls are in flight', ...WAIT });
    await worker.stop();
    const left = await world.inQueue(id);
    expect(left.map(({ attempts, lockedBy }) => ({ attempts, lockedBy }))).toEqual(
      Array.from({ length: 5 }, () => ({ attempts: 0, lockedBy: null })),
    );
    await world.startWorker();
    await world.finished(id, 5);
  });

  test('a worker that lost its lock writes no result', async () => {
    let end: () => void = () => undefined;
    const target = await world.startReceiver((res) => (end = () => res.writeHead(500).end()));
    const { id } = await world.addEndpoint(target.url);
    await world.emit();
    const worker = await world.startWorker({}, { drainMs: NEVER_MS, timeoutMs: NEVER_MS });
    await until(() => target.posts.length === 1, { what: 'the call is in flight', ...WAIT });
    const stranger = newUuid();
    await world.db.webhookQueueEntry.updateMany({
      where: { endpointId: id },
      data: { lockedBy: stranger, lockedUntil: new Date(Date.now() + NEVER_MS) },
    });
    end();
    await worker.stop();
    const [entry] = await world.inQueue(id);
    expect(entry).toMatchObject({ lockedBy: stranger, attempts: 0 });
    expect((await world.deliveries(id))[0]).toMatchObject({ attempts: 0, lastStatusCode: null });
  });
});
