import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { InstanceOut } from '../resources/instance.js';
import type { DeliveryOut, WebhookEndpointOut } from '../resources/webhook.js';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';
import { openHeaders, openWebhookSecret } from './secrets.js';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let instances: string[];

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  const made = await Promise.all(['a', 'b'].map((name) => newInstance(client, name)));
  instances = made.map(({ id }) => id);
});

const PATH = '/v1/webhook-endpoints';
const URL = 'https://hooks.shop.com.br/gwk';
const uuidOf = (id: string) => fromPublicId('instance', id)!;
const codeOf = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const newInstance = async (who: ApiClient, name: string) =>
  (await who.call<InstanceOut>('POST', '/v1/instances', { body: { name } })).body;
const create = (fields: Record<string, unknown> = {}, who = client, headers: Record<string, string> = {}) =>
  who.call<WebhookEndpointOut>('POST', PATH, { body: { url: URL, ...fields }, headers });
const restrictedTo = (...ids: string[]) => api.clientOf(account, { instances: ids.map(uuidOf) });

test('creates an endpoint for all instances; its secret is shown once and stored encrypted', async () => {
  const { status, body } = await create({ description: 'loja' });
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.stringMatching(/^whe_[0-9a-f]{32}$/) as string,
    url: URL,
    event_types: [],
    instance_ids: [],
    description: 'loja',
    header_names: [],
    enabled: true,
    disabled_reason: null,
    disabled_at: null,
    created_at: expect.any(String) as string,
    updated_at: expect.any(String) as string,
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string,
  });
  const { secret, ...rest } = body;
  expect((await client.call('GET', `${PATH}/${body.id}`)).body).toEqual(rest);
  expect((await client.call('GET', PATH)).body).toEqual([rest]);
  const kept = await api.db.webhookSecret.findMany({
    where: { endpointId: fromPublicId('endpoint', body.id)! },
  });
  const sealer = new Sealer(parseEncryptionKeys(api.encryptionKeys));
  expect(kept.map(({ secretSealed }) => openWebhookSecret(sealer, account.id, secretSealed))).toEqual([
    secret,
  ]);
});

test.each([
  ['plain HTTP', 'http://hooks.shop.com.br/', 'not-https'],
  ['a loopback address', 'https://127.0.0.1/', 'address-not-public'],
  ['a loopback address over HTTP', 'http://127.0.0.1:8000/', 'not-https'],
  ['a private address', 'https://10.0.0.1/', 'address-not-public'],
  ['localhost', 'https://localhost/', 'name-not-public'],
  ['a single label', 'https://hooks/', 'name-not-public'],
  ['user-info', 'https://a:b@hooks.shop.com.br/', 'user-info'],
  ['port 0', 'https://hooks.shop.com.br:0/', 'bad-port'],
  ['nonsense', 'not a url', 'not-a-url'],
])('%s: invalid-webhook-url that names the rule', async (_, url, code) => {
  const answer = await create({ url });
  expect([answer.status, codeOf(answer)]).toEqual([422, 'invalid-webhook-url']);
  const { errors } = answer.body as unknown as { errors: object[] };
  expect(errors).toEqual([{ path: 'url', code, message: expect.stringMatching(/^must /) as string }]);
});

describe('custom headers', () => {
  const SECRET = 'Bearer s3cret-of-the-gateway';
  const headers = { Authorization: SECRET, 'X-Tenant': 'loja' };
  const change = (id: string, body: object) => client.call('PATCH', `${PATH}/${id}`, { body });
  const stored = (id: string) =>
    api.db.webhookEndpoint.findFirstOrThrow({ where: { id: fromPublicId('endpoint', id)! } });
  const open = async (id: string) => {
    const sealer = new Sealer(parseEncryptionKeys(api.encryptionKeys));
    return openHeaders(sealer, account.id, (await stored(id)).headersSealed);
  };

  test('are stored encrypted; answers show their names', async () => {
    const { status, body } = await create({ headers });
    expect([status, body.header_names]).toEqual([201, ['authorization', 'x-tenant']]);
    expect(JSON.stringify(body)).not.toContain(SECRET);
    expect(JSON.stringify((await client.call('GET', `${PATH}/${body.id}`)).body)).not.toContain(SECRET);
    expect(Buffer.from((await stored(body.id)).headersSealed!).includes('s3cret')).toBe(false);
    expect(await open(body.id)).toEqual({ authorization: SECRET, 'x-tenant': 'loja' });
  });

  test('stay without a change, are replaced as a whole, and end with an empty object', async () => {
    const { body } = await create({ headers });
    await change(body.id, { description: 'nova', headers: null, url: `${URL}/other` });
    expect(await open(body.id)).toEqual({ authorization: SECRET, 'x-tenant': 'loja' });
    await change(body.id, { headers: { 'x-tenant': 'b' } });
    expect(await open(body.id)).toEqual({ 'x-tenant': 'b' });
    expect((await change(body.id, { headers: {} })).body).toMatchObject({ header_names: [] });
    expect((await stored(body.id)).headersSealed).toBeNull();
  });

  test.each(['https://other.shop.com.br/gwk', 'https://hooks.shop.com.br:8443/gwk'])(
    'are never sent to another origin by mistake: %s',
    async (url) => {
      const { body } = await create({ headers });
      const refused = await change(body.id, { url });
      expect(codeOf(refused)).toBe('validation-error');
      expect(refused.body).toMatchObject({ errors: [{ path: 'headers' }] });
      expect((await change(body.id, { url, headers: { 'x-tenant': 'b' } })).status).toBe(200);
    },
  );

  test('are in the audit log by name of the field alone', async () => {
    const { body } = await create({ headers });
    await change(body.id, { headers: { authorization: 'Basic other' } });
    const entries = await api.db.auditEntry.findMany({ where: { accountId: account.id } });
    expect(JSON.stringify(entries)).toContain('"fields":["headers"]');
    expect(JSON.stringify(entries)).not.toMatch(/s3cret|Basic/);
  });

  test.each([
    ['a signature', { 'Webhook-Signature': 'v1,x' }, 'headers.Webhook-Signature'],
    ['the host', { host: 'internal' }, 'headers.host'],
    ['the length', { 'content-length': '1' }, 'headers.content-length'],
    ['the framing', { 'Transfer-Encoding': 'chunked' }, 'headers.Transfer-Encoding'],
    ['the connection', { connection: 'close' }, 'headers.connection'],
    ['a name with a space', { 'x y': '1' }, 'headers.x y'],
    ['a name with a line break', { 'x\r\ny': '1' }, 'headers.x\r\ny'],
    ['a value with a line break', { x: 'a\r\nhost: b' }, 'headers.x'],
    ['a value that is not ASCII', { x: 'ç' }, 'headers.x'],
    ['an empty value', { x: '' }, 'headers.x'],
    ['a name twice', { x: '1', X: '2' }, 'headers.X'],
    ['eleven headers', Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`x${n}`, '1'])), 'headers'],
  ])('refuse by path: %s', async (_, given, path) => {
    const answer = await create({ headers: given });
    expect(codeOf(answer)).toBe('validation-error');
    expect(answer.body).toMatchObject({ errors: [{ path }] });
  });

  test('never include a prototype', async () => {
    const { body } = await create({ headers: JSON.parse('{"__proto__": "x", "x-a": "1"}') as object });
    expect(body.header_names ?? ['x-a']).toEqual(['x-a']);
  });
});

test.each([
  ['an unknown event type', { event_types: ['message.lost'] }],
  ['an unknown instance', { instance_ids: [`ins_${'0'.repeat(32)}`] }],
  ['an invalid id', { instance_ids: ['ins_1'] }],
  ['no URL', { url: undefined }],
  ['a description over the limit', { description: 'x'.repeat(501) }],
])('%s: validation-error', async (_, fields) => {
  const answer = await create(fields);
  expect([answer.status, codeOf(answer)]).toEqual([422, 'validation-error']);
});

test('rejects an instance of another account with its path', async () => {
  const stranger = await api.clientOf(await api.account());
  const foreign = await newInstance(stranger, 'x');
  const answer = await create({ instance_ids: [instances[0], foreign.id] });
  expect(codeOf(answer)).toBe('validation-error');
  expect((answer.body as unknown as { errors: { path: string }[] }).errors).toEqual([
    expect.objectContaining({ path: 'instance_ids.1' }),
  ]);
});

test('parallel requests cannot exceed ten endpoints', async () => {
  const answers = await Promise.all(Array.from({ length: 16 }, () => create()));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
  const refused = answers.filter(({ status }) => status !== 201);
  expect(new Set(refused.map(codeOf))).toEqual(new Set(['webhook-limit-reached']));
  expect(await api.db.webhookEndpoint.count({ where: { accountId: account.id } })).toBe(10);
});

describe('update', () => {
  test('changes given fields; null and absent fields stay', async () => {
    const { body } = await create({ event_types: ['message.sent'], instance_ids: [instances[0]] });
    const id = fromPublicId('endpoint', body.id)!;
    await api.db.webhookEndpoint.update({
      where: { id },
      data: { enabled: false, disabledReason: 'gone', failingSince: new Date() },
    });
    const answer = await client.call('PATCH', `${PATH}/${body.id}`, {
      body: { url: null, description: 'nova', enabled: true, instance_ids: [instances[1]] },
    });
    const rest = { ...body };
    delete rest.secret;
    expect(answer.body).toEqual({
      ...rest,
      description: 'nova',
      instance_ids: [instances[1]],
      updated_at: expect.any(String) as string,
    });
    expect(await api.db.webhookEndpoint.findUnique({ where: { id } })).toMatchObject({
      disabledReason: null,
      failingSince: null,
    });
  });

  test('accepts the current list of instances with a deleted one', async () => {
    const { body } = await create({ instance_ids: instances });
    await client.call('DELETE', `/v1/instances/${instances[0]!}`);
    const path = `${PATH}/${body.id}`;
    expect((await client.call('PATCH', path, { body: { instance_ids: body.instance_ids } })).status).toBe(
      200,
    );
    expect(codeOf(await create({ instance_ids: [instances[0]] }))).toBe('validation-error');
  });

  test('rejects a bad URL before it looks up the endpoint', async () => {
    const path = `${PATH}/whe_${'0'.repeat(32)}`;
    expect(codeOf(await client.call('PATCH', path, { body: { url: 'http://x' } }))).toBe(
      'invalid-webhook-url',
    );
  });
});

describe('a restricted key', () => {
  test('sees endpoints whose instances are all its own', async () => {
    await create();
    await create({ instance_ids: instances });
    const { body: own } = await create({ instance_ids: [instances[0]] });
    const restricted = await restrictedTo(instances[0]!);
    const list = await restricted.call<WebhookEndpointOut[]>('GET', PATH);
    expect(list.body.map(({ id }) => id)).toEqual([own.id]);
  });

  test('cannot read, change or delete other endpoints', async () => {
    const { body } = await create({ instance_ids: instances });
    const restricted = await restrictedTo(instances[0]!);
    for (const [method, path, sent] of [
      ['GET', '', undefined],
      ['PATCH', '', { description: 'x' }],
      ['DELETE', '', undefined],
      ['GET', '/deliveries', undefined],
    ] as const) {
      const answer = await restricted.call(method, `${PATH}/${body.id}${path}`, { body: sent });
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
  });

  test('creates endpoints for its own instances, named or not', async () => {
    const restricted = await restrictedTo(instances[0]!);
    expect((await create({}, restricted)).body.instance_ids).toEqual([instances[0]]);
    expect((await create({ instance_ids: [instances[0]] }, restricted)).status).toBe(201);
    expect(codeOf(await create({ instance_ids: [instances[1]] }, restricted))).toBe('validation-error');
  });

  test('cannot widen its endpoint to all instances', async () => {
    const restricted = await restrictedTo(instances[0]!);
    const { body } = await create({}, restricted);
    const path = `${PATH}/${body.id}`;
    const emptied = await restricted.call<WebhookEndpointOut>('PATCH', path, { body: { instance_ids: [] } });
    expect(emptied.body.instance_ids).toEqual([instances[0]]);
    const widened = await restricted.call('PATCH', path, { body: { instance_ids: instances } });
    expect(codeOf(widened)).toBe('validation-error');
  });

  test('without instances cannot create an endpoint', async () => {
    const restricted = await restrictedTo();
    expect(codeOf(await create({}, restricted))).toBe('forbidden');
  });
});

describe('repeated creation', () => {
  const key = { 'idempotency-key': 'k' };

  test('returns the same secret and creates no second endpoint', async () => {
    const first = await create({}, client, key);
    const again = await create({}, client, key);
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await api.db.webhookEndpoint.count({ where: { accountId: account.id } })).toBe(1);
  });

  test('hides the secret from a key that cannot see the endpoint', async () => {
    await create({}, client, key);
    const answer = await create({}, await restrictedTo(instances[0]!), key);
    expect([answer.status, codeOf(answer)]).toEqual([404, 'not-found']);
  });

  test('returns the created secret after a crash', async () => {
    const first = await create({}, client, key);
    await api.db.idempotencyRecord.updateMany({
      where: { accountId: account.id },
      data: { status: null, responseSealed: null, lockedUntil: new Date(Date.now() - 1000) },
    });
    expect((await create({}, client, key)).body).toEqual(first.body);
  });
});

describe('deliveries', () => {
  async function deliver(endpointId: string, status: string, count: number): Promise<void> {
    const sealer = new Sealer(parseEncryptionKeys(api.encryptionKeys));
    const column = 'webhook_deliveries.last_response_sealed';
    await api.db.webhookDelivery.createMany({
      data: Array.from({ length: count }, () => ({
        id: newUuid(),
        accountId: account.id,
        endpointId: fromPublicId('endpoint', endpointId)!,
        eventId: newUuid(),
        instanceId: uuidOf(instances[0]!),
        eventType: 'message.sent',
        status,
        createdAt: new Date(),
        lastResponseSealed: new Uint8Array(sealer.sealJson(account.id, column, 'a stranger')),
      })),
    });
  }
  const list = (id: string, query: Record<string, string>) =>
    client.call<Page<DeliveryOut>>('GET', `${PATH}/${id}/deliveries`, { query });

  test('are paged by status, newest first, without response bodies', async () => {
    const { body } = await create();
    await deliver(body.id, 'failed', 3);
    await deliver(body.id, 'succeeded', 2);
    const first = await list(body.id, { status: 'failed', limit: '2' });
    expect(first.body.data[0]).toEqual({
      id: expect.stringMatching(/^whd_/) as string,
      endpoint_id: body.id,
      event_id: expect.stringMatching(/^evt_/) as string,
      event_type: 'message.sent',
      status: 'failed',
      attempts: 0,
      next_attempt_at: null,
      last_status_code: null,
      last_error: null,
      last_latency_ms: null,
      created_at: expect.any(String) as string,
      delivered_at: null,
    });
    await deliver(body.id, 'failed', 1);
    const cursor = first.body.next_cursor!;
    const second = await list(body.id, { status: 'failed', limit: '2', cursor });
    expect([second.body.data.length, second.body.next_cursor]).toEqual([1, null]);
    const { body: other } = await create();
    expect(codeOf(await list(other.id, { status: 'failed', limit: '2', cursor }))).toBe('invalid-cursor');
  });

  test('of a deleted endpoint are hidden, and its secrets are deleted', async () => {
    const { body } = await create();
    await deliver(body.id, 'pending', 1);
    expect((await client.call('DELETE', `${PATH}/${body.id}`)).status).toBe(204);
    expect((await list(body.id, {})).status).toBe(404);
    expect((await client.call('DELETE', `${PATH}/${body.id}`)).status).toBe(404);
    const endpointId = fromPublicId('endpoint', body.id)!;
    expect(await api.db.webhookSecret.count({ where: { endpointId } })).toBe(0);
  });
});

test('on one machine, allows http://127.0.0.1:PORT/ and no similar URL', async () => {
  const { port } = await api.addReplica({ GWK_API_LOOPBACK_WEBHOOKS: 'on' });
  const local = api.client((await api.key(account)).key, port);
  expect((await create({ url: 'http://127.0.0.1:8000/x' }, local)).status).toBe(201);
  for (const url of [
    'http://localhost:8000/',
    'http://[::1]:8000/',
    'http://127.0.0.2:8000/',
    'http://127.0.0.1/',
  ]) {
    expect(codeOf(await create({ url }, local))).toBe('invalid-webhook-url');
  }
});
