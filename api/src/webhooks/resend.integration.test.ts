import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { DeliveryWorld } from '@gwk/test/support/api/deliveries';
import { until } from '@gwk/test/support/wait';
import { problemCode, endpointUuid, WebhookStage } from '@gwk/test/support/api/webhook-stage';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let stage: WebhookStage;
let world: DeliveryWorld;
beforeAll(async () => {
  stage = await WebhookStage.shared();
  world = stage.world;
});
afterEach(() => world.reset());

describe('retry of failed deliveries', () => {
  const at = (ms: number) => new Date(ms).toISOString();

  test('includes both ends and skips succeeded and pending deliveries', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    await world.emit(5);
    const ids = await stage.allFailed(id);
    const now = Date.now();
    // One delivery per hour, oldest first; ids and times match.
    const times = ids.map((_, index) => now - (5 - index) * HOUR);
    for (const [index, delivery] of ids.entries()) await moveTo(delivery, times[index]!);
    const [, second, third, fourth] = (await world.deliveries(endpointUuid(id))).map((row) => row.id);
    await world.db.webhookDelivery.update({ where: { id: third! }, data: { status: 'succeeded' } });
    const answer = await stage.retryFailed(id, { since: at(times[1]!), until: at(times[3]!) });
    expect([answer.status, answer.body]).toEqual([200, { retried: 2 }]);
    const queued = (await world.inQueue(endpointUuid(id))).map(({ deliveryId }) => deliveryId);
    expect(queued.sort()).toEqual([second, fourth].sort());
    expect((await stage.retryFailed(id, { since: at(times[0]!) })).body).toEqual({ retried: 2 });
    expect((await stage.retryFailed(id, { since: at(0) })).body).toEqual({ retried: 0 });
  });

  async function moveTo(delivery: string, time: number): Promise<void> {
    await world.db.$executeRaw`
      UPDATE webhook_deliveries SET created_at = ${new Date(time)},
        id = overlay(id::text PLACING left(gwk_lowest_id(${new Date(time)}::timestamptz)::text, 13) FROM 1 FOR 13)::uuid
      WHERE id = ${fromPublicId('delivery', delivery)!}::uuid`;
  }

  test('counts thousands in the answer; the worker posts each once', async () => {
    const target = await world.startReceiver();
    const { id } = await stage.create(target.url);
    const events = await world.emit(2_200);
    await stage.allFailed(id);
    const answer = await stage.retryFailed(id, { since: at(Date.now() - HOUR) });
    expect(answer.body).toEqual({ retried: 2_200 });
    expect(await world.db.webhookQueueEntry.count()).toBe(1_000);
    await world.startWorker({ GWK_WORKER_WEBHOOK_CONCURRENCY_PER_ENDPOINT: '200' });
    await drained();
    expect([...target.counts().keys()].sort()).toEqual([...events].sort());
    expect(target.posts).toHaveLength(2_200);
    expect(await world.db.webhookResend.count()).toBe(0);
  });

  test('two concurrent requests post each delivery once', async () => {
    const target = await world.startReceiver();
    const { id } = await stage.create(target.url);
    await world.emit(1_200);
    await stage.allFailed(id);
    const since = at(Date.now() - HOUR);
    await Promise.all([stage.retryFailed(id, { since }), stage.retryFailed(id, { since })]);
    await world.startWorker({ GWK_WORKER_WEBHOOK_CONCURRENCY_PER_ENDPOINT: '200' });
    await drained();
    expect(target.posts).toHaveLength(1_200);
  });

  const drained = () =>
    until(
      async () =>
        (await world.db.webhookResend.count()) === 0 && (await world.db.webhookQueueEntry.count()) === 0,
      { what: 'the queue is empty', everyMs: 100 },
    );

  test('ends the period at the time of the request', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    await world.emit(1_200);
    await stage.allFailed(id);
    const far = at(Date.now() + DAY);
    await stage.retryFailed(id, { since: at(Date.now() - HOUR), until: far });
    const [job] = await world.db.webhookResend.findMany();
    expect(job!.until.getTime()).toBeLessThanOrEqual(Date.now());
  });

  test('a restricted key retries deliveries of its own instances only', async () => {
    const [mine, other] = [await stage.newInstance(), await stage.newInstance()];
    const { id } = await stage.create('https://hooks.shop.com.br/', { instance_ids: [mine.id] });
    await world.emit(2);
    const [first, second] = await stage.allFailed(id);
    for (const [delivery, { uuid }] of [
      [first, mine],
      [second, other],
    ] as const) {
      await world.db.webhookDelivery.update({
        where: { id: fromPublicId('delivery', delivery!)! },
        data: { instanceId: uuid },
      });
    }
    const restricted = await stage.api.clientOf(stage.account, { instances: [mine.uuid] });
    const answer = await stage.retryFailed(id, { since: at(0) }, {}, restricted);
    expect(answer.body).toEqual({ retried: 1 });
    expect((await stage.retry(second!, {}, restricted)).status).toBe(404);
    expect((await stage.deliveries(id, {}, restricted)).data.map((item) => item.id)).toEqual([first]);
    const pending = (await stage.deliveries(id, { status: 'pending' }, restricted)).data;
    expect(pending.map((item) => item.id)).toEqual([first]);
  });

  test('runs once per idempotency key', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    await world.emit(3);
    await stage.allFailed(id);
    const key = { 'idempotency-key': newUuid() };
    const body = { since: at(Date.now() - HOUR) };
    await stage.retryFailed(id, body, key);
    const again = await stage.retryFailed(id, body, key);
    expect([again.body, again.headers['idempotent-replayed']]).toEqual([{ retried: 3 }, 'true']);
  });

  test.each([
    ['no since', {}, 'since'],
    ['a since that is not a time', { since: 'yesterday' }, 'since'],
    ['an until before since', { since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' }, 'until'],
    ['an unknown field', { since: '2026-01-02T00:00:00Z', status: 'failed' }, 'status'],
  ])('%s: validation-error', async (_sentence, body, path) => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    const answer = await stage.retryFailed(id, body);
    expect([answer.status, problemCode(answer)]).toEqual([422, 'validation-error']);
    expect(answer.body).toMatchObject({ errors: [{ path }] });
  });

  test.each([
    { since: '0000-01-01T00:00:00Z', until: '9999-12-31T23:59:59Z' },
    { since: '0000-01-01T00:00:00+14:00', until: '9999-12-31T23:59:59-14:00' },
    { since: '0001-01-01T00:00:00Z', until: '0001-01-01T00:00:00Z' },
  ])('accepts extreme times: %j', async (body) => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    expect((await stage.retryFailed(id, body)).body).toEqual({ retried: 0 });
  });
});
