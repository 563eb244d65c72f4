import { newUuid } from '@gwk/core/ids/ids';
import type { EventOut } from '../resources/event.js';
import type { DeliveryWorld } from '@gwk/test/support/api/deliveries';
import { until } from '@gwk/test/support/wait';
import { problemCode, endpointUuid, verifies, WebhookStage } from '@gwk/test/support/api/webhook-stage';

let stage: WebhookStage;
let world: DeliveryWorld;
beforeAll(async () => {
  stage = await WebhookStage.shared();
  world = stage.world;
});
afterEach(() => world.reset());

describe('test event', () => {
  test('goes to its endpoint only and ignores the filter of event types', async () => {
    const target = await world.startReceiver();
    const { id, secret } = await stage.create(target.url, { event_types: ['message.sent'] });
    await stage.create(target.url);
    const answer = await stage.sendTest(id);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({
      endpoint_id: id,
      event_type: 'webhook.test',
      status: 'pending',
      attempts: 0,
      last_error: null,
    });
    await world.startWorker();
    await world.finished(endpointUuid(id));
    const [post, ...others] = target.posts;
    expect(others).toEqual([]);
    expect(post!.headers['webhook-id']).toBe(answer.body.event_id);
    expect(verifies(secret!, post!)).toBe(true);
    expect(JSON.parse(post!.body)).toMatchObject({ type: 'webhook.test', data: { endpoint_id: id } });
    const event = await stage.client.call<EventOut>('GET', `/v1/events/${answer.body.event_id}`);
    expect(event.body).toMatchObject({ type: 'webhook.test', instance_id: null, data: { endpoint_id: id } });
    expect((await stage.deliveries(id)).data.map(({ status }) => status)).toEqual(['succeeded']);
  });

  test('gets one attempt at a disabled endpoint', async () => {
    const target = await world.startReceiver((res) => res.writeHead(500).end());
    const { id } = await stage.create(target.url);
    await stage.update(id, { enabled: false });
    expect((await stage.sendTest(id)).status).toBe(202);
    await world.startWorker();
    const [row] = await world.finished(endpointUuid(id));
    expect(row).toMatchObject({ status: 'failed', attempts: 1, lastError: 'answered 500' });
  });

  test('is created once per idempotency key, also after a crash', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    const key = { 'idempotency-key': newUuid() };
    const first = await stage.sendTest(id, key);
    expect((await stage.sendTest(id, key)).body).toEqual(first.body);
    await stage.forgetAnswers();
    expect((await stage.sendTest(id, key)).body).toEqual(first.body);
    expect((await stage.deliveries(id)).data).toHaveLength(1);
  });
});

describe('retry of one delivery', () => {
  test('starts the whole schedule again and continues the count of attempts', async () => {
    const target = await world.startReceiver((res, _post, nth) => res.writeHead(nth < 3 ? 500 : 200).end());
    const { id } = await stage.create(target.url);
    await world.emit();
    const [delivery] = await stage.allFailed(id);
    const answer = await stage.retry(delivery!);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ id: delivery, status: 'pending', attempts: 8, delivered_at: null });
    expect(Date.parse(answer.body.next_attempt_at!)).toBeLessThanOrEqual(Date.now());
    await world.startWorker();
    const tried = await world.attempted(endpointUuid(id), 9);
    expect(tried.status).toBe('pending');
    expect(tried.nextAttemptAt!.getTime()).toBeGreaterThanOrEqual(target.posts[0]!.at + 5_000);
    expect(tried.nextAttemptAt!.getTime()).toBeLessThanOrEqual(Date.now() + 6_000);
    await world.makeDue();
    await world.attempted(endpointUuid(id), 10);
    await world.makeDue();
    const [row] = await world.finished(endpointUuid(id));
    expect(row).toMatchObject({ status: 'succeeded', attempts: 11 });
  });

  test('sends a succeeded delivery again with the same event id', async () => {
    const target = await world.startReceiver();
    const { id } = await stage.create(target.url);
    await world.startWorker();
    const [event] = await world.emit();
    await world.finished(endpointUuid(id));
    const [sent] = (await stage.deliveries(id)).data;
    expect((await stage.retry(sent!.id)).status).toBe(202);
    await until(() => target.counts().get(event!) === 2, { what: 'the event arrives twice' });
    const [row] = await world.finished(endpointUuid(id));
    expect(row).toMatchObject({ status: 'succeeded', attempts: 2 });
  });

  test('answers delivery-pending while pending; one of ten concurrent retries succeeds', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    await world.emit();
    const [pending] = (await stage.deliveries(id)).data;
    const refused = await stage.retry(pending!.id);
    expect([refused.status, problemCode(refused)]).toEqual([409, 'delivery-pending']);
    await stage.allFailed(id);
    const answers = await Promise.all(Array.from({ length: 10 }, () => stage.retry(pending!.id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array<number>(9).fill(409)]);
    expect(await world.inQueue(endpointUuid(id))).toHaveLength(1);
  });

  test('posts once to a disabled endpoint, which stays disabled', async () => {
    const target = await world.startReceiver((res) => res.writeHead(500).end());
    const { id } = await stage.create(target.url);
    await world.emit();
    const [delivery] = await stage.allFailed(id);
    await stage.update(id, { enabled: false });
    expect((await stage.retry(delivery!)).status).toBe(202);
    await world.startWorker();
    const [row] = await world.finished(endpointUuid(id));
    expect(row).toMatchObject({ status: 'failed', attempts: 9, lastError: 'answered 500' });
    expect((await stage.read(id)).enabled).toBe(false);
    expect(target.posts).toHaveLength(1);
  });

  test('is queued once per idempotency key, also after a crash', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    await world.emit();
    const [delivery] = await stage.allFailed(id);
    const key = { 'idempotency-key': newUuid() };
    const first = await stage.retry(delivery!, key);
    expect((await stage.retry(delivery!, key)).headers['idempotent-replayed']).toBe('true');
    await stage.forgetAnswers();
    expect((await stage.retry(delivery!, key)).body).toEqual(first.body);
  });

  test('answers not-found for other accounts, hidden or deleted endpoints and unknown ids', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    await world.emit();
    const [delivery] = await stage.allFailed(id);
    const stranger = await stage.api.clientOf(await stage.api.account());
    const restricted = await stage.restricted();
    const answers = [
      await stage.retry(delivery!, {}, stranger),
      await stage.retry(delivery!, {}, restricted),
      await stage.retry(`whd_${'0'.repeat(32)}`),
      await stage.retry('whd_1'),
    ];
    await stage.remove(id);
    answers.push(await stage.retry(delivery!));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
  });
});

describe('an endpoint that gwk disabled', () => {
  test('has the reason and time, also in the audit log; enabling it clears them', async () => {
    const target = await world.startReceiver((res) => res.writeHead(410).end());
    const { id } = await stage.create(target.url);
    await world.startWorker();
    await world.emit();
    await world.finished(endpointUuid(id));
    const disabled = await stage.read(id);
    expect(disabled).toMatchObject({ enabled: false, disabled_reason: 'gone' });
    expect(Date.parse(disabled.disabled_at!)).toBeGreaterThanOrEqual(target.posts[0]!.at);
    expect(Date.parse(disabled.disabled_at!)).toBeLessThanOrEqual(Date.now());
    const entries = await world.db.auditEntry.findMany({ where: { subject: endpointUuid(id) } });
    expect(entries.at(-1)).toMatchObject({
      accountId: stage.account.id,
      actor: 'gwk:worker',
      action: 'webhook.disable',
      detail: { reason: 'gone' },
    });
    const answer = await stage.update(id, { enabled: true });
    expect(answer.body).toMatchObject({ enabled: true, disabled_reason: null, disabled_at: null });
  });
});

describe('list of deliveries', () => {
  test('pages pending deliveries, newest first', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    await world.emit(5);
    const all = (await stage.deliveries(id)).data.map((item) => item.id);
    const first = await stage.deliveries(id, { status: 'pending', limit: '3' });
    await world.emit(2);
    const second = await stage.deliveries(id, { status: 'pending', limit: '3', cursor: first.next_cursor! });
    expect([...first.data, ...second.data].map((item) => item.id)).toEqual(all);
    expect(second.next_cursor).toBeNull();
  });
});
