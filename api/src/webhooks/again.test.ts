import { fromPublicId, newUuid, toPublicId } from '@gwk/core/ids';
import type { Page } from '@gwk/core/resources/common';
import type { EventOut } from '@gwk/core/resources/event';
import type {
  DeliveryOut,
  RetriedOut,
  RotatedSecretOut,
  WebhookEndpointOut,
} from '@gwk/core/resources/webhook';
import { DeliveryWorld, type Post } from '@gwk/test/harness/deliveries';
import { until } from '@gwk/test/harness/wait';
import { Webhook } from 'standardwebhooks';
import { TestApi, type TestAccount } from '../testing/api.js';
import type { ApiClient } from '../testing/client.js';

/** What is sent again because somebody asked for it, and the secrets that it is signed with. */
const PATH = '/v1/webhook-endpoints';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let world: DeliveryWorld;
let api: TestApi;
let account: TestAccount;
let client: ApiClient;

beforeAll(async () => {
  world = await DeliveryWorld.create();
  const { DATABASE_URL, REDIS_URL, GWK_REDIS_PREFIX, GWK_SEALING_KEYS } = world.environment;
  api = await TestApi.start({
    databaseUrl: DATABASE_URL!,
    redisUrl: REDIS_URL!,
    redisPrefix: GWK_REDIS_PREFIX!,
    settings: { GWK_SEALING_KEYS: GWK_SEALING_KEYS!, GWK_API_LOOPBACK_WEBHOOKS: 'on' },
  });
  account = { id: world.accountId, name: 'deliveries' };
  await api.db.account.update({ where: { id: account.id }, data: { requestsPerMinute: 1_000_000 } });
  client = await api.clientOf(account);
});
afterAll(async () => {
  await api.stop();
  await world.close();
});
afterEach(() => world.reset());

const codeOf = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const uuidOf = (endpoint: string) => fromPublicId('endpoint', endpoint)!;
const create = async (url: string, fields: Record<string, unknown> = {}) =>
  (await client.call<WebhookEndpointOut>('POST', PATH, { body: { url, ...fields } })).body;
const record = async (id: string) => (await client.call<WebhookEndpointOut>('GET', `${PATH}/${id}`)).body;
const rotate = (id: string, who = client, headers: Record<string, string> = {}) =>
  who.call<RotatedSecretOut>('POST', `${PATH}/${id}/rotate-secret`, { headers });
const sendTest = (id: string, who = client, headers: Record<string, string> = {}) =>
  who.call<DeliveryOut>('POST', `${PATH}/${id}/test`, { headers });
const retry = (delivery: string, who = client, headers: Record<string, string> = {}) =>
  who.call<DeliveryOut>('POST', `/v1/webhook-deliveries/${delivery}/retry`, { headers });
const retryFailed = (id: string, body: unknown, who = client, headers: Record<string, string> = {}) =>
  who.call<RetriedOut>('POST', `${PATH}/${id}/retry-failed`, { body, headers });
const listed = async (id: string, query: Record<string, string> = {}, who = client) =>
  (await who.call<Page<DeliveryOut>>('GET', `${PATH}/${id}/deliveries`, { query })).body;

async function newInstance(): Promise<{ id: string; uuid: string }> {
  const answer = await client.call<{ id: string }>('POST', '/v1/instances', {
    body: { name: newUuid(), kind: 'web' },
  });
  return { id: answer.body.id, uuid: fromPublicId('instance', answer.body.id)! };
}

function verifies(secret: string, { body, headers }: Post): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

/** Whatever waits for the destination has failed, so long ago. */
async function allFailed(endpoint: string, agoMs = 0): Promise<string[]> {
  const endpointId = uuidOf(endpoint);
  await world.db.webhookQueueEntry.deleteMany({ where: { endpointId } });
  await world.db.webhookDelivery.updateMany({
    where: { endpointId, status: 'pending' },
    data: {
      status: 'failed',
      attempts: 8,
      nextAttemptAt: null,
      lastError: 'connection refused',
      ...(agoMs > 0 && { createdAt: new Date(Date.now() - agoMs) }),
    },
  });
  const rows = await world.deliveries(endpointId);
  return rows.map(({ id }) => toPublicId('delivery', id));
}

describe('rotating the secret', () => {
  test('for 24 hours both sign, then the new one alone', async () => {
    const target = await world.destination();
    const { id, secret: before } = await create(target.url);
    const answer = await rotate(id);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string,
      previous_expires_at: expect.any(String) as string,
    });
    const { secret: after, previous_expires_at: expiry } = answer.body;
    expect(Math.abs(Date.parse(expiry) - Date.now() - DAY)).toBeLessThan(10_000);
    await world.startWorker();
    await world.emit();
    await world.finished(uuidOf(id));
    await world.db.webhookSecret.updateMany({
      where: { endpointId: uuidOf(id), expiresAt: { not: null } },
      data: { expiresAt: new Date(Date.parse(expiry) - DAY - 1) },
    });
    await world.emit();
    await world.finished(uuidOf(id), 2);
    const signed = target.posts.map((post) => [verifies(before!, post), verifies(after, post)]);
    expect(signed).toEqual([
      [true, true],
      [false, true],
    ]);
  });

  test('more often than five times a day ends the oldest: a call has five signatures', async () => {
    const target = await world.destination();
    const { id, secret } = await create(target.url);
    const secrets = [secret!];
    for (let i = 0; i < 6; i++) secrets.push((await rotate(id)).body.secret);
    await world.startWorker();
    await world.emit();
    await world.finished(uuidOf(id));
    const [post] = target.posts;
    expect(String(post!.headers['webhook-signature']).split(' ')).toHaveLength(5);
    expect(secrets.map((one) => verifies(one, post!))).toEqual([false, false, true, true, true, true, true]);
  });

  test('at once by several is one after another: each has its secret', async () => {
    const { id } = await create('https://hooks.shop.com.br/');
    const answers = await Promise.all([1, 2, 3, 4].map(() => rotate(id)));
    expect(new Set(answers.map(({ body }) => body.secret)).size).toBe(4);
    const kept = await world.db.webhookSecret.findMany({ where: { endpointId: uuidOf(id) } });
    expect(kept.filter(({ expiresAt }) => expiresAt === null)).toHaveLength(1);
  });

  test('repeated with its key gives the same secret, after a crash too, and to nobody else', async () => {
    const { id } = await create('https://hooks.shop.com.br/');
    const key = { 'idempotency-key': newUuid() };
    const first = await rotate(id, client, key);
    expect((await rotate(id, client, key)).body).toEqual(first.body);
    await world.db.idempotencyRecord.updateMany({
      where: { key: key['idempotency-key'] },
      data: { status: null, responseSealed: null, lockedUntil: new Date(Date.now() - 1000) },
    });
    expect((await rotate(id, client, key)).body).toEqual(first.body);
    expect(await world.db.webhookSecret.count({ where: { endpointId: uuidOf(id) } })).toBe(2);
    const restricted = await api.clientOf(account, { instances: [(await newInstance()).uuid] });
    expect(codeOf(await rotate(id, restricted, key))).toBe('not-found');
  });

  test('is in the log of the account, without the secret; at rest that is ciphertext', async () => {
    const { id } = await create('https://hooks.shop.com.br/');
    const { secret } = (await rotate(id)).body;
    const entries = await world.db.auditEntry.findMany({ where: { subject: uuidOf(id) } });
    expect(entries.map(({ action }) => action)).toEqual(['webhook.create', 'webhook.rotate-secret']);
    const kept = await world.db.webhookSecret.findMany({ where: { endpointId: uuidOf(id) } });
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    for (const { secretSealed } of kept) {
      expect(Buffer.from(secretSealed).includes(key)).toBe(false);
      expect(Buffer.from(secretSealed).includes(secret)).toBe(false);
    }
  });
});

describe('the test event', () => {
  test('goes to its destination alone, whatever types that one asks for', async () => {
    const target = await world.destination();
    const { id, secret } = await create(target.url, { event_types: ['message.sent'] });
    await create(target.url);
    const answer = await sendTest(id);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({
      endpoint_id: id,
      event_type: 'webhook.test',
      status: 'pending',
      attempts: 0,
      last_error: null,
    });
    await world.startWorker();
    await world.finished(uuidOf(id));
    const [post, ...others] = target.posts;
    expect(others).toEqual([]);
    expect(post!.headers['webhook-id']).toBe(answer.body.event_id);
    expect(verifies(secret!, post!)).toBe(true);
    expect(JSON.parse(post!.body)).toMatchObject({ type: 'webhook.test', data: { endpoint_id: id } });
    const event = await client.call<EventOut>('GET', `/v1/events/${answer.body.event_id}`);
    expect(event.body).toMatchObject({ type: 'webhook.test', instance_id: null, data: { endpoint_id: id } });
    expect((await listed(id)).data.map(({ status }) => status)).toEqual(['succeeded']);
  });

  test('to a disabled destination is tried once', async () => {
    const target = await world.destination((res) => res.writeHead(500).end());
    const { id } = await create(target.url);
    await client.call('PATCH', `${PATH}/${id}`, { body: { enabled: false } });
    expect((await sendTest(id)).status).toBe(202);
    await world.startWorker();
    const [row] = await world.finished(uuidOf(id));
    expect(row).toMatchObject({ status: 'failed', attempts: 1, lastError: 'answered 500' });
  });

  test('repeated with its key is one event, after a crash too', async () => {
    const { id } = await create('https://hooks.shop.com.br/');
    const key = { 'idempotency-key': newUuid() };
    const first = await sendTest(id, client, key);
    expect((await sendTest(id, client, key)).body).toEqual(first.body);
    await world.db.idempotencyRecord.updateMany({
      where: { key: key['idempotency-key'] },
      data: { status: null, responseSealed: null, lockedUntil: new Date(Date.now() - 1000) },
    });
    expect((await sendTest(id, client, key)).body).toEqual(first.body);
    expect((await listed(id)).data).toHaveLength(1);
  });
});

describe('one delivery again', () => {
  test('that failed has the whole schedule before it, and is counted on', async () => {
    const target = await world.destination((res, _post, nth) => res.writeHead(nth < 3 ? 500 : 200).end());
    const { id } = await create(target.url);
    await world.emit();
    const [delivery] = await allFailed(id);
    const answer = await retry(delivery!);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ id: delivery, status: 'pending', attempts: 8, delivered_at: null });
    expect(Date.parse(answer.body.next_attempt_at!)).toBeLessThanOrEqual(Date.now());
    await world.startWorker();
    const tried = await world.attempted(uuidOf(id), 9);
    expect(tried.status).toBe('pending');
    const wait = tried.nextAttemptAt!.getTime() - Date.now();
    expect(wait).toBeGreaterThan(3_000);
    expect(wait).toBeLessThan(6_500);
    await world.makeDue();
    await world.attempted(uuidOf(id), 10);
    await world.makeDue();
    const [row] = await world.finished(uuidOf(id));
    expect(row).toMatchObject({ status: 'succeeded', attempts: 11 });
  });

  test('that succeeded is sent again, under the same id', async () => {
    const target = await world.destination();
    const { id } = await create(target.url);
    await world.startWorker();
    const [event] = await world.emit();
    await world.finished(uuidOf(id));
    const [sent] = (await listed(id)).data;
    expect((await retry(sent!.id)).status).toBe(202);
    await until(() => target.counts().get(event!) === 2, { what: 'it came twice' });
    const [row] = await world.finished(uuidOf(id));
    expect(row).toMatchObject({ status: 'succeeded', attempts: 2 });
  });

  test('that is still to be made: delivery-pending; of ten at once one is right', async () => {
    const { id } = await create('https://hooks.shop.com.br/');
    await world.emit();
    const [pending] = (await listed(id)).data;
    const refused = await retry(pending!.id);
    expect([refused.status, codeOf(refused)]).toEqual([409, 'delivery-pending']);
    await allFailed(id);
    const answers = await Promise.all(Array.from({ length: 10 }, () => retry(pending!.id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array<number>(9).fill(409)]);
    expect(await world.inQueue(uuidOf(id))).toHaveLength(1);
  });

  test('of a disabled destination is posted once, and it stays disabled', async () => {
    const target = await world.destination((res) => res.writeHead(500).end());
    const { id } = await create(target.url);
    await world.emit();
    const [delivery] = await allFailed(id);
    await client.call('PATCH', `${PATH}/${id}`, { body: { enabled: false } });
    expect((await retry(delivery!)).status).toBe(202);
    await world.startWorker();
    const [row] = await world.finished(uuidOf(id));
    expect(row).toMatchObject({ status: 'failed', attempts: 9, lastError: 'answered 500' });
    expect((await record(id)).enabled).toBe(false);
    expect(target.posts).toHaveLength(1);
  });

  test('repeated with its key is sent once; after a crash too, though it is pending by then', async () => {
    const { id } = await create('https://hooks.shop.com.br/');
    await world.emit();
    const [delivery] = await allFailed(id);
    const key = { 'idempotency-key': newUuid() };
    const first = await retry(delivery!, client, key);
    expect((await retry(delivery!, client, key)).headers['idempotent-replayed']).toBe('true');
    await world.db.idempotencyRecord.updateMany({
      where: { key: key['idempotency-key'] },
      data: { status: null, responseSealed: null, lockedUntil: new Date(Date.now() - 1000) },
    });
    expect((await retry(delivery!, client, key)).body).toEqual(first.body);
  });

  test('of another account, of a hidden or removed destination, or never made: not-found', async () => {
    const { id } = await create('https://hooks.shop.com.br/');
    await world.emit();
    const [delivery] = await allFailed(id);
    const stranger = await api.clientOf(await api.account());
    const restricted = await api.clientOf(account, { instances: [(await newInstance()).uuid] });
    const answers = [
      await retry(delivery!, stranger),
      await retry(delivery!, restricted),
      await retry(`whd_${'0'.repeat(32)}`),
      await retry('whd_1'),
    ];
    await client.call('DELETE', `${PATH}/${id}`);
    answers.push(await retry(delivery!));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
  });
});

describe('all that failed in a period', () => {
  const at = (ms: number) => new Date(ms).toISOString();

  test('both ends included; what succeeded or is pending is left alone', async () => {
    const { id } = await create('https://hooks.shop.com.br/');
    await world.emit(5);
    const ids = await allFailed(id);
    const now = Date.now();
    // One each hour, the oldest first; ids and times go together.
    const times = ids.map((_, index) => now - (5 - index) * HOUR);
    for (const [index, delivery] of ids.entries()) await moveTo(delivery, times[index]!);
    const [, second, third, fourth] = (await world.deliveries(uuidOf(id))).map((row) => row.id);
    await world.db.webhookDelivery.update({ where: { id: third! }, data: { status: 'succeeded' } });
    const answer = await retryFailed(id, { since: at(times[1]!), until: at(times[3]!) });
    expect([answer.status, answer.body]).toEqual([200, { retried: 2 }]);
    const queued = (await world.inQueue(uuidOf(id))).map(({ deliveryId }) => deliveryId);
    expect(queued.sort()).toEqual([second, fourth].sort());
    expect((await retryFailed(id, { since: at(times[0]!) })).body).toEqual({ retried: 2 });
    expect((await retryFailed(id, { since: at(0) })).body).toEqual({ retried: 0 });
  });

  async function moveTo(delivery: string, time: number): Promise<void> {
    await world.db.$executeRaw`
      UPDATE webhook_deliveries SET created_at = ${new Date(time)},
        id = overlay(id::text PLACING left(gwk_lowest_id(${new Date(time)}::timestamptz)::text, 13) FROM 1 FOR 13)::uuid
      WHERE id = ${fromPublicId('delivery', delivery)!}::uuid`;
  }

  test('in thousands: counted in the answer, queued by the worker, each posted once', async () => {
    const target = await world.destination();
    const { id } = await create(target.url);
    const events = await world.emit(3_500);
    await allFailed(id);
    const answer = await retryFailed(id, { since: at(Date.now() - HOUR) });
    expect(answer.body).toEqual({ retried: 3_500 });
    expect(await world.db.webhookQueueEntry.count()).toBe(1_000);
    await world.startWorker();
    await drained();
    expect([...target.counts().keys()].sort()).toEqual([...events].sort());
    expect(target.posts).toHaveLength(3_500);
    expect(await world.db.webhookResend.count()).toBe(0);
  });

  test('asked for twice at once, each is posted once', async () => {
    const target = await world.destination();
    const { id } = await create(target.url);
    await world.emit(2_500);
    await allFailed(id);
    const since = at(Date.now() - HOUR);
    await Promise.all([retryFailed(id, { since }), retryFailed(id, { since })]);
    await world.startWorker();
    await drained();
    expect(target.posts).toHaveLength(2_500);
  });

  const drained = () =>
    until(
      async () =>
        (await world.db.webhookResend.count()) === 0 && (await world.db.webhookQueueEntry.count()) === 0,
      { what: 'nothing is left to be sent', everyMs: 100 },
    );

  test('what fails after the request is not meant by it, whatever its end', async () => {
    const { id } = await create('https://hooks.shop.com.br/');
    await world.emit(1_200);
    await allFailed(id);
    const far = at(Date.now() + DAY);
    await retryFailed(id, { since: at(Date.now() - HOUR), until: far });
    const [job] = await world.db.webhookResend.findMany();
    expect(job!.until.getTime()).toBeLessThanOrEqual(Date.now());
  });

  test('a key of some instances sends again what concerns those', async () => {
    const [mine, other] = [await newInstance(), await newInstance()];
    const { id } = await create('https://hooks.shop.com.br/', { instance_ids: [mine.id] });
    await world.emit(2);
    const [first, second] = await allFailed(id);
    for (const [delivery, { uuid }] of [
      [first, mine],
      [second, other],
    ] as const) {
      await world.db.webhookDelivery.update({
        where: { id: fromPublicId('delivery', delivery!)! },
        data: { instanceId: uuid },
      });
    }
    const restricted = await api.clientOf(account, { instances: [mine.uuid] });
    const answer = await retryFailed(id, { since: at(0) }, restricted);
    expect(answer.body).toEqual({ retried: 1 });
    expect((await retry(second!, restricted)).status).toBe(404);
    expect((await listed(id, {}, restricted)).data.map((item) => item.id)).toEqual([first]);
    const pending = (await listed(id, { status: 'pending' }, restricted)).data;
    expect(pending.map((item) => item.id)).toEqual([first]);
  });

  test('repeated with its key is done once', async () => {
    const { id } = await create('https://hooks.shop.com.br/');
    await world.emit(3);
    await allFailed(id);
    const key = { 'idempotency-key': newUuid() };
    const body = { since: at(Date.now() - HOUR) };
    await retryFailed(id, body, client, key);
    const again = await retryFailed(id, body, client, key);
    expect([again.body, again.headers['idempotent-replayed']]).toEqual([{ retried: 3 }, 'true']);
  });

  test.each([
    ['no beginning', {}, 'since'],
    ['a beginning that is no time', { since: 'yesterday' }, 'since'],
    [
      'an end before the beginning',
      { since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' },
      'until',
    ],
    ['a field that is unknown', { since: '2026-01-02T00:00:00Z', status: 'failed' }, 'status'],
  ])('%s: validation-error', async (_sentence, body, path) => {
    const { id } = await create('https://hooks.shop.com.br/');
    const answer = await retryFailed(id, body);
    expect([answer.status, codeOf(answer)]).toEqual([422, 'validation-error']);
    expect(answer.body).toMatchObject({ errors: [{ path }] });
  });

  test.each([
    { since: '0000-01-01T00:00:00Z', until: '9999-12-31T23:59:59Z' },
    { since: '0000-01-01T00:00:00+14:00', until: '9999-12-31T23:59:59-14:00' },
    { since: '0001-01-01T00:00:00Z', until: '0001-01-01T00:00:00Z' },
  ])('the ends of time are times: %j', async (body) => {
    const { id } = await create('https://hooks.shop.com.br/');
    expect((await retryFailed(id, body)).body).toEqual({ retried: 0 });
  });
});

describe('a destination that the service disabled', () => {
  test('says why and when, and so does the log of its account; enabling it clears that', async () => {
    const target = await world.destination((res) => res.writeHead(410).end());
    const { id } = await create(target.url);
    await world.startWorker();
    await world.emit();
    await world.finished(uuidOf(id));
    const disabled = await record(id);
    expect(disabled).toMatchObject({ enabled: false, disabled_reason: 'gone' });
    expect(Date.now() - Date.parse(disabled.disabled_at!)).toBeLessThan(30_000);
    const entries = await world.db.auditEntry.findMany({ where: { subject: uuidOf(id) } });
    expect(entries.at(-1)).toMatchObject({
      accountId: account.id,
      actor: 'gwk:worker',
      action: 'webhook.disable',
      detail: { reason: 'gone' },
    });
    const answer = await client.call('PATCH', `${PATH}/${id}`, { body: { enabled: true } });
    expect(answer.body).toMatchObject({ enabled: true, disabled_reason: null, disabled_at: null });
  });
});

describe('the log', () => {
  test('of what is pending goes page by page, newest first', async () => {
    const { id } = await create('https://hooks.shop.com.br/');
    await world.emit(5);
    const all = (await listed(id)).data.map((item) => item.id);
    const first = await listed(id, { status: 'pending', limit: '3' });
    await world.emit(2);
    const second = await listed(id, { status: 'pending', limit: '3', cursor: first.next_cursor! });
    expect([...first.data, ...second.data].map((item) => item.id)).toEqual(all);
    expect(second.next_cursor).toBeNull();
  });
});
