import { newUuid } from '@gwk/core/ids';
import type { EventOut } from '@gwk/core/resources/event';
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

describe('the test event', () => {
  test('goes to its destination alone, whatever types that one asks for', async () => {
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

  test('to a disabled destination is tried once', async () => {
    const target = await world.startReceiver((res) => res.writeHead(500).end());
    const { id } = await stage.create(target.url);
    await stage.update(id, { enabled: false });
    expect((await stage.sendTest(id)).status).toBe(202);
    await world.startWorker();
    const [row] = await world.finished(endpointUuid(id));
    expect(row).toMatchObject({ status: 'failed', attempts: 1, lastError: 'answered 500' });
  });

  test('repeated with its key is one event, after a crash too', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    const key = { 'idempotency-key': newUuid() };
    const first = await stage.sendTest(id, key);
    expect((await stage.sendTest(id, key)).body).toEqual(first.body);
    await stage.forgetAnswers();
    expect((await stage.sendTest(id, key)).body).toEqual(first.body);
    expect((await stage.deliveries(id)).data).toHaveLength(1);
  });
});

describe('one delivery again', () => {
  test('that failed has the whole schedule before it, and is counted on', async () => {
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

  test('that succeeded is sent again, under the same id', async () => {
    const target = await world.startReceiver();
    const { id } = await stage.create(target.url);
    await world.startWorker();
    const [event] = await world.emit();
    await world.finished(endpointUuid(id));
    const [sent] = (await stage.deliveries(id)).data;
    expect((await stage.retry(sent!.id)).status).toBe(202);
    await until(() => target.counts().get(event!) === 2, { what: 'it came twice' });
    const [row] = await world.finished(endpointUuid(id));
    expect(row).toMatchObject({ status: 'succeeded', attempts: 2 });
  });

  test('that is still to be made: delivery-pending; of ten at once one is right', async () => {
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

  test('of a disabled destination is posted once, and it stays disabled', async () => {
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

  test('repeated with its key is sent once; after a crash too, though it is pending by then', async () => {
    const { id } = await stage.create('https://hooks.shop.com.br/');
    await world.emit();
    const [delivery] = await stage.allFailed(id);
    const key = { 'idempotency-key': newUuid() };
    const first = await stage.retry(delivery!, key);
    expect((await stage.retry(delivery!, key)).headers['idempotent-replayed']).toBe('true');
    await stage.forgetAnswers();
    expect((await stage.retry(delivery!, key)).body).toEqual(first.body);
  });

  test('of another account, of a hidden or removed destination, or never made: not-found', async () => {
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

describe('a destination that the service disabled', () => {
  test('says why and when, and so does the log of its account; enabling it clears that', async () => {
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

describe('the log', () => {
  test('of what is pending goes page by page, newest first', async () => {
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
