import { createDeliveryWorld, Destination, type DeliveryWorld } from '@gwk/test/harness/deliveries';
import { pause, until } from '@gwk/test/harness/wait';
import { fromPublicId, newUuid } from '@gwk/core/ids';
import { newWebhookSecret } from '@gwk/core/webhook-signature';
import { Webhook } from 'standardwebhooks';
import { sealWebhookSecret } from '../../webhooks/secrets.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const WAIT = { timeoutMs: 10_000, everyMs: 10 };

let world: DeliveryWorld;
const destinations: Destination[] = [];

beforeAll(async () => {
  world = await createDeliveryWorld();
});
afterAll(() => world.close());
afterEach(async () => {
  await world.stopWorkers();
  await Promise.all(destinations.splice(0).map((destination) => destination.stop()));
  await world.db.webhookEndpoint.deleteMany();
  await world.db.webhookQueueEntry.deleteMany();
});

async function destination(...args: Parameters<typeof Destination.start>): Promise<Destination> {
  const started = await Destination.start(...args);
  destinations.push(started);
  return started;
}

const deliveries = (endpointId: string) =>
  world.db.webhookDelivery.findMany({ where: { endpointId }, orderBy: { id: 'asc' } });
const finished = async (endpointId: string, amount = 1) => {
  const rows = await deliveries(endpointId);
  return rows.filter(({ status }) => status !== 'pending').length === amount && rows;
};
const makeDue = () => world.db.webhookQueueEntry.updateMany({ data: { dueAt: new Date(0) } });
const inQueue = (endpointId: string) => world.db.webhookQueueEntry.count({ where: { endpointId } });

describe('what is posted', () => {
  test('is the event as stored, signed as Standard Webhooks say', async () => {
    const target = await destination();
    const { id, secret } = await world.addEndpoint(target.url);
    await world.startWorker();
    const [eventId] = await world.emit(1, {
      text: 'açaí "quoted" \u2028 😀',
      z: 1,
      a: { b: [1, 2.5, null] },
    });
    const [row] = await until(() => finished(id), { what: 'the delivery is done', ...WAIT });
    const [post] = target.posts;
    expect(post!.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': eventId });
    const body = new Webhook(secret).verify(post!.body, post!.headers as Record<string, string>);
    expect(body).toEqual({
      type: 'webhook.test',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      data: { number: 0, text: 'açaí "quoted" \u2028 😀', z: 1, a: { b: [1, 2.5, null] } },
    });
    expect(Object.keys(body as object)).toEqual(['type', 'timestamp', 'data']);
    expect(row).toMatchObject({ status: 'succeeded', attempts: 1, lastStatusCode: 204, lastError: null });
    expect(row!.nextAttemptAt).toBeNull();
    expect(row!.deliveredAt).not.toBeNull();
    expect(await inQueue(id)).toBe(0);
  });

  test('is the same at every attempt, with a timestamp and signature of its own', async () => {
    const target = await destination((res, _post, nth) => res.writeHead(nth === 1 ? 500 : 200).end('thanks'));
    const { id, secret } = await world.addEndpoint(target.url);
    await world.startWorker();
    await world.emit();
    await until(async () => (await deliveries(id))[0]?.attempts === 1, { what: 'a first attempt', ...WAIT });
    await pause(1_100); // the timestamp is in seconds
    await makeDue();
    await until(() => finished(id), { what: 'the delivery is done', ...WAIT });
    const [one, two] = target.posts;
    expect(two!.body).toBe(one!.body);
    expect(two!.headers['webhook-id']).toBe(one!.headers['webhook-id']);
    expect(Number(two!.headers['webhook-timestamp'])).toBeGreaterThan(
      Number(one!.headers['webhook-timestamp']),
    );
    for (const post of [one!, two!]) {
      new Webhook(secret).verify(post.body, post.headers as Record<string, string>);
    }
  });

  test('is signed with every secret that has not expired', async () => {
    const target = await destination();
    const { id, secret } = await world.addEndpoint(target.url);
    const [rotated, expired] = [newWebhookSecret(), newWebhookSecret()];
    for (const [plain, expiresAt] of [
      [rotated, new Date(Date.now() + DAY)],
      [expired, new Date(Date.now() - 1)],
    ] as const) {
      const secretSealed = new Uint8Array(sealWebhookSecret(world.sealer, world.accountId, plain));
      await world.db.webhookSecret.create({
        data: { id: newUuid(), endpointId: id, secretSealed, expiresAt },
      });
    }
    await world.startWorker();
    await world.emit();
    await until(() => finished(id), { what: 'the delivery is done', ...WAIT });
    const { body, headers } = target.posts[0]!;
    expect(String(headers['webhook-signature']).split(' ')).toHaveLength(2);
    for (const valid of [secret, rotated]) new Webhook(valid).verify(body, headers as Record<string, string>);
    expect(() => new Webhook(expired).verify(body, headers as Record<string, string>)).toThrow();
  });

  test('goes out within 100 ms where there is little to do (median)', async () => {
    const target = await destination();
    await world.addEndpoint(target.url);
    await world.startWorker();
    const latencies: number[] = [];
    for (let i = 0; i < 25; i++) {
      const start = Date.now();
      await world.emit();
      await until(() => target.posts.length === i + 1, { what: 'the post', timeoutMs: 5_000, everyMs: 1 });
      latencies.push(target.posts[i]!.at - start);
      await pause(Math.random() * 150);
    }
    latencies.sort((a, b) => a - b);
    console.info(`event to post: p50 ${latencies[12]} ms, max ${latencies.at(-1)} ms`);
    expect(latencies[12]).toBeLessThan(150);
  });
});

describe('what does not succeed', () => {
  test('is tried eight times, on schedule, and has failed', async () => {
    const target = await destination((res) => res.writeHead(503).end('no'));
    const { id } = await world.addEndpoint(target.url);
    await world.startWorker();
    await world.emit();
    const steps = [
      5 * SECOND,
      5 * MINUTE,
      30 * MINUTE,
      120 * MINUTE,
      300 * MINUTE,
      600 * MINUTE,
      600 * MINUTE,
    ];
    for (const [index, step] of steps.entries()) {
      const [row] = await until(
        async () => {
          const rows = await deliveries(id);
          return rows[0]?.attempts === index + 1 && rows;
        },
        { what: `attempt ${index + 1}`, ...WAIT },
      );
      const wait = row!.nextAttemptAt!.getTime() - Date.now();
      expect(wait).toBeGreaterThan(step - 2 * SECOND);
      expect(wait).toBeLessThanOrEqual(step * 1.2 + SECOND);
      const [entry] = await world.db.webhookQueueEntry.findMany({ where: { endpointId: id } });
      expect(entry).toMatchObject({ attempts: index + 1, dueAt: row!.nextAttemptAt, lockedBy: null });
      await makeDue();
    }
    const [row] = await until(() => finished(id), { what: 'the delivery has failed', ...WAIT });
    expect(row).toMatchObject({
      status: 'failed',
      attempts: 8,
      nextAttemptAt: null,
      lastStatusCode: 503,
      lastError: 'answered 503',
    });
    expect(target.posts).toHaveLength(8);
    expect(await inQueue(id)).toBe(0);
  });

  test('waits as long as the destination asks', async () => {
    const target = await destination((res) => res.writeHead(429, { 'retry-after': '600' }).end());
    const { id } = await world.addEndpoint(target.url);
    await world.startWorker();
    await world.emit();
    const [row] = await until(
      async () => {
        const rows = await deliveries(id);
        return rows[0]?.attempts === 1 && rows;
      },
      { what: 'the first attempt', ...WAIT },
    );
    const wait = row!.nextAttemptAt!.getTime() - Date.now();
    expect(Math.abs(wait - 600 * SECOND)).toBeLessThan(5 * SECOND);
  });

  test.each<[string, Parameters<typeof Destination.start>[0], number | null, string]>([
    [
      'a redirect, which is not followed',
      (res) => res.writeHead(302, { location: '/other' }).end(),
      302,
      'answered 302',
    ],
    ['a permanent redirect', (res) => res.writeHead(308, { location: '/other' }).end(), 308, 'answered 308'],
    ['silence', () => undefined, null, 'no complete answer within 0.4 s'],
    ['a body that trickles', (res) => { res.writeHead(200); trickle(res); }, null, 'no complete answer within 0.4 s'], // prettier-ignore
    [
      'headers that trickle',
      (res) => {
        res.socket!.write('HTTP/1.1 200 OK\r\nx: ');
        trickle(res.socket!);
      },
      null,
      'no complete answer within 0.4 s',
    ],
    ['a closed connection', (res) => res.socket!.destroy(), null, 'connection closed without an answer'],
    ['something that is not HTTP', (res) => res.socket!.end('hello\r\n\r\n'), null, 'the answer is not HTTP'],
    ['headers without end', (res) => res.socket!.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`), null, 'the headers of the answer are too long'], // prettier-ignore
    ['an answer that breaks off', (res) => res.writeHead(200, { 'content-length': '9' }).write('x', () => res.socket!.destroy()), null, 'connection closed without an answer'], // prettier-ignore
  ])('%s is a failure that says why', async (_sentence, answer, statusCode, error) => {
    const target = await destination(answer);
    const { id } = await world.addEndpoint(target.url);
    await world.startWorker({ GWK_WORKER_WEBHOOK_TIMEOUT_MS: '400' });
    await world.emit();
    const [row] = await until(
      async () => {
        const rows = await deliveries(id);
        return rows[0]?.attempts === 1 && rows;
      },
      { what: 'the first attempt', ...WAIT },
    );
    expect(row).toMatchObject({ status: 'pending', lastStatusCode: statusCode, lastError: error });
    expect(row!.lastLatencyMs).toBeLessThan(1_000);
    expect(target.posts.map(({ path }) => path)).toEqual(['/hook']);
  });

  test.each([
    ['nobody listens', 'http://127.0.0.1:1/hook', 'connection refused'],
    ['a name of this machine', 'http://localhost:1/hook', 'the URL is not allowed (not-https)'],
    ['an inner address', 'https://10.0.0.1/hook', 'the URL is not allowed (address-not-public)'],
    ['no URL', 'nonsense', 'the URL is not allowed (not-a-url)'],
  ])('%s: tried again, in case it is mended', async (_sentence, url, error) => {
    const { id } = await world.addEndpoint(url);
    await world.startWorker();
    await world.emit();
    const [row] = await until(
      async () => {
        const rows = await deliveries(id);
        return rows[0]?.attempts === 1 && rows;
      },
      { what: 'the first attempt', ...WAIT },
    );
    expect(row).toMatchObject({ status: 'pending', lastStatusCode: null, lastError: error });
  });

  test('an event that is gone cannot be delivered', async () => {
    const target = await destination();
    const { id } = await world.addEndpoint(target.url);
    const [eventId] = await world.emit();
    await world.db.event.delete({ where: { id: fromPublicId('event', eventId!)! } });
    await world.startWorker();
    const [row] = await until(() => finished(id), { what: 'the delivery has failed', ...WAIT });
    expect(row).toMatchObject({ status: 'failed', lastError: 'the event is gone' });
    expect(target.posts).toHaveLength(0);
  });
});

describe('what a destination answers', () => {
  test('is kept sealed, 20 kB of it, and a gigabyte is cut off', async () => {
    let sent = 0;
    const target = await destination((res) => {
      const chunk = Buffer.alloc(65_536, 'x');
      res.writeHead(200);
      const more = (): void => {
        if (res.destroyed || sent >= 2 ** 30) return;
        sent += chunk.length;
        res.write(chunk, more);
      };
      more();
    });
    const { id } = await world.addEndpoint(target.url);
    await world.startWorker();
    await world.emit();
    const [row] = await until(() => finished(id), { what: 'the delivery is done', ...WAIT });
    expect(row).toMatchObject({ status: 'succeeded', lastStatusCode: 200 });
    expect(row!.lastLatencyMs).toBeLessThan(2_000);
    expect(Buffer.from(row!.lastResponseSealed!).includes('xxxx')).toBe(false);
    const kept = world.sealer.open(
      world.accountId,
      'webhook_deliveries.last_response_sealed',
      row!.lastResponseSealed!,
    );
    expect(kept.toString()).toBe('x'.repeat(20_000));
    await pause(100);
    expect(sent).toBeLessThan(20_000_000);
  });
});

describe('destinations', () => {
  test('one that says 410 is disabled, and what waited for it has failed', async () => {
    const target = await destination((res) => res.writeHead(410).end());
    const { id } = await world.addEndpoint(target.url);
    await world.emit(30);
    await world.startWorker();
    const rows = await until(() => finished(id, 30), { what: 'all have failed', ...WAIT });
    expect(new Set(rows.map(({ lastError }) => lastError))).toEqual(
      new Set(['answered 410', 'the destination was disabled']),
    );
    const row = await world.db.webhookEndpoint.findUniqueOrThrow({ where: { id } });
    expect(row).toMatchObject({ enabled: false, disabledReason: 'gone' });
    expect(row.disabledAt).not.toBeNull();
    expect(target.posts.length).toBeLessThanOrEqual(20);
    expect(await inQueue(id)).toBe(0);
  });

  test('one that failed for five days is disabled by its next failure', async () => {
    const target = await destination((res) => res.writeHead(500).end());
    const failingSince = new Date(Date.now() - 5 * DAY);
    const { id } = await world.addEndpoint(target.url, { failingSince, lastFailedAt: new Date() });
    await world.startWorker();
    await world.emit();
    const [row] = await until(() => finished(id), { what: 'the delivery has failed', ...WAIT });
    expect(row).toMatchObject({ status: 'failed', lastError: 'answered 500' });
    const endpoint = await world.db.webhookEndpoint.findUniqueOrThrow({ where: { id } });
    expect(endpoint).toMatchObject({ enabled: false, disabledReason: 'failing' });
  });

  test('one that failed now and then is not', async () => {
    const target = await destination((res, _post, nth) => res.writeHead(nth % 2 === 0 ? 200 : 500).end());
    const failingSince = new Date(Date.now() - 6 * DAY);
    const { id } = await world.addEndpoint(target.url, { failingSince, lastFailedAt: failingSince });
    await world.startWorker();
    await world.emit();
    await until(async () => (await deliveries(id))[0]?.attempts === 1, { what: 'a failure', ...WAIT });
    const failing = await world.db.webhookEndpoint.findUniqueOrThrow({ where: { id } });
    expect(failing.enabled).toBe(true);
    expect(Date.now() - failing.failingSince!.getTime()).toBeLessThan(MINUTE);
    await makeDue();
    await until(() => finished(id), { what: 'a success', ...WAIT });
    const healthy = await world.db.webhookEndpoint.findUniqueOrThrow({ where: { id } });
    expect(healthy).toMatchObject({ enabled: true, failingSince: null, lastFailedAt: null });
  });

  test('what waits for one that was removed or disabled has failed', async () => {
    const target = await destination();
    const [removed, disabled] = [await world.addEndpoint(target.url), await world.addEndpoint(target.url)];
    await world.emit(1_500);
    await world.db.webhookEndpoint.delete({ where: { id: removed.id } });
    await world.db.webhookEndpoint.update({ where: { id: disabled.id }, data: { enabled: false } });
    await world.startWorker();
    for (const [id, error] of [
      [removed.id, 'the destination was removed'],
      [disabled.id, 'the destination was disabled'],
    ] as const) {
      const rows = await until(() => finished(id, 1_500), { what: 'all have failed', ...WAIT });
      expect(new Set(rows.map(({ status, lastError }) => `${status} ${lastError}`))).toEqual(
        new Set([`failed ${error}`]),
      );
    }
    expect(target.posts).toHaveLength(0);
    expect(await world.db.webhookQueueEntry.count()).toBe(0);
  });

  test('what is asked for by hand of a disabled one is posted, once', async () => {
    const target = await destination((res, _post, nth) => res.writeHead(nth === 1 ? 500 : 200).end());
    const { id } = await world.addEndpoint(target.url);
    await world.emit(2);
    await world.db.webhookEndpoint.update({ where: { id }, data: { enabled: false } });
    await world.startWorker({ GWK_WORKER_WEBHOOK_CONCURRENCY_PER_DESTINATION: '1' });
    const rows = await until(() => finished(id, 2), { what: 'both have failed', ...WAIT });
    for (const row of rows) {
      await world.db.webhookDelivery.update({ where: { id: row.id }, data: { status: 'pending' } });
      await world.db.webhookQueueEntry.create({
        data: { deliveryId: row.id, endpointId: id, eventId: row.eventId, dueAt: new Date() },
      });
    }
    const again = await until(() => finished(id, 2), { what: 'both are done', ...WAIT });
    expect(again.map(({ status }) => status).sort()).toEqual(['failed', 'succeeded']);
    expect(target.posts).toHaveLength(2);
  });

  test('one that is enabled again begins anew', async () => {
    const { id } = await world.addEndpoint('http://127.0.0.1:1/', { failingSince: new Date(0) });
    await world.db.webhookEndpoint.update({
      where: { id },
      data: { enabled: false, disabledReason: 'failing' },
    });
    const row = await world.db.webhookEndpoint.update({ where: { id }, data: { enabled: true } });
    expect(row).toMatchObject({ disabledAt: null, disabledReason: null, failingSince: null });
  });
});

describe('destinations side by side', () => {
  const timeout = { GWK_WORKER_WEBHOOK_TIMEOUT_MS: '3000' };

  test('four bad ones with long queues do not delay a good one', async () => {
    const bad = await Promise.all([
      destination(() => undefined),
      destination((res) => { res.writeHead(200); trickle(res); }), // prettier-ignore
      destination((res) => void setTimeout(() => res.writeHead(200).end(), 2_500)),
      destination((res) => res.socket!.destroy()),
    ]);
    for (const target of bad) await world.addEndpoint(target.url);
    await world.startWorker(timeout);
    await world.emit(500);
    await until(() => bad.every(({ posts }) => posts.length >= 10), {
      what: 'the bad ones are busy',
      ...WAIT,
    });

    const good = await destination();
    const { id } = await world.addEndpoint(good.url);
    const start = Date.now();
    await world.emit(200);
    await until(() => good.posts.length === 200, { what: 'the good one has all', ...WAIT });
    expect(Date.now() - start).toBeLessThan(2_500);
    await until(() => finished(id, 200), { what: 'which is written down', ...WAIT });
    expect(bad[0]!.posts.length).toBeLessThanOrEqual(20);
  });

  test('forty dead ones, known as such, leave room for the others', async () => {
    const dead = await destination(() => undefined);
    for (let i = 0; i < 40; i++) {
      await world.addEndpoint(`${dead.url}/${i}`, { failingSince: new Date(), lastFailedAt: new Date() });
    }
    await world.startWorker({ ...timeout, GWK_WORKER_WEBHOOK_CONCURRENCY: '40' });
    await world.emit(50);
    await until(() => dead.posts.length >= 20, { what: 'the dead ones take what they get', ...WAIT });
    const good = await destination();
    await world.addEndpoint(good.url);
    const start = Date.now();
    await world.emit(50);
    await until(() => good.posts.length === 50, { what: 'the good one has all', ...WAIT });
    expect(Date.now() - start).toBeLessThan(2_500);
  });

  test('a destination has no more calls in flight than the setting says', async () => {
    let open = 0;
    let most = 0;
    const target = await destination((res) => {
      most = Math.max(most, ++open);
      setTimeout(() => {
        open -= 1;
        res.writeHead(200).end();
      }, 20);
    });
    const { id } = await world.addEndpoint(target.url);
    await world.emit(60);
    await world.startWorker({ GWK_WORKER_WEBHOOK_CONCURRENCY_PER_DESTINATION: '4' });
    await until(() => finished(id, 60), { what: 'all are delivered', ...WAIT });
    expect(most).toBe(4);
  });
});

describe('several workers', () => {
  test('two at once post each of 1,000 deliveries once', async () => {
    const targets = await Promise.all([destination(), destination(), destination(), destination()]);
    const ids = await Promise.all(targets.map(async ({ url }) => (await world.addEndpoint(url)).id));
    const events = await world.emit(250);
    await Promise.all([world.startWorker(), world.startWorker()]);
    for (const id of ids) await until(() => finished(id, 250), { what: 'all are delivered', ...WAIT });
    for (const target of targets) {
      expect(target.posts).toHaveLength(250);
      expect([...target.counts().keys()].sort()).toEqual([...events].sort());
    }
  });

  test('one that stops finishes its calls and gives back the rest', async () => {
    const open: (() => void)[] = [];
    const target = await destination((res) => open.push(() => res.writeHead(200).end()));
    const { id } = await world.addEndpoint(target.url);
    await world.emit(25);
    const worker = await world.startWorker();
    await until(() => open.length === 10, { what: 'ten calls are in flight', ...WAIT });
    const stopped = worker.stop();
    await pause(100);
    for (const end of open) end();
    await stopped;
    expect(await finished(id, 10)).toBeTruthy();
    const left = await world.db.webhookQueueEntry.findMany({ where: { endpointId: id } });
    expect(left).toHaveLength(15);
    expect(left.every(({ lockedBy }) => lockedBy === null)).toBe(true);
  });

  test('one that stops breaks off calls that do not end, and they are due again at once', async () => {
    const target = await destination((res, _post, nth) => {
      if (nth > 5) res.writeHead(200).end();
    });
    const { id } = await world.addEndpoint(target.url);
    await world.emit(5);
    // Two time-outs fit into none of the waits here: the calls are broken off by the stop.
    const worker = await world.startWorker({ GWK_WORKER_WEBHOOK_TIMEOUT_MS: '60000' });
    await until(() => target.posts.length === 5, { what: 'five calls are in flight', ...WAIT });
    const start = Date.now();
    await worker.stop();
    expect(Date.now() - start).toBeLessThan(12_000);
    const left = await world.db.webhookQueueEntry.findMany({ where: { endpointId: id } });
    expect(left.map(({ attempts, lockedBy }) => ({ attempts, lockedBy }))).toEqual(
      Array.from({ length: 5 }, () => ({ attempts: 0, lockedBy: null })),
    );
    await world.startWorker();
    await until(() => finished(id, 5), { what: 'the next worker delivers them', ...WAIT });
  }, 20_000);

  test('what a lost lock covered is not written by the one who lost it', async () => {
    let end: () => void = () => undefined;
    const target = await destination((res) => (end = () => res.writeHead(500).end()));
    const { id } = await world.addEndpoint(target.url);
    await world.emit();
    await world.startWorker();
    await until(() => target.posts.length === 1, { what: 'the call is in flight', ...WAIT });
    const stranger = newUuid();
    await world.db.webhookQueueEntry.updateMany({
      where: { endpointId: id },
      data: { lockedBy: stranger, lockedUntil: new Date(Date.now() + MINUTE) },
    });
    end();
    await pause(300);
    const [entry] = await world.db.webhookQueueEntry.findMany({ where: { endpointId: id } });
    expect(entry).toMatchObject({ lockedBy: stranger, attempts: 0 });
    expect((await deliveries(id))[0]).toMatchObject({ attempts: 0, lastStatusCode: null });
  });
});

function trickle(stream: NodeJS.WritableStream & { destroyed?: boolean }): void {
  const timer = setInterval(() => {
    if (stream.destroyed) clearInterval(timer);
    else stream.write('x');
  }, 20);
}
