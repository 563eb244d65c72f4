import { fromPublicId } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import { FAILURE_TEXTS } from '@gwk/core/states';
import type { InstanceOut } from '../resources/instance.js';
import { toResourceName } from '@gwk/core/resources/manifest';
import { sharedApi } from '@gwk/test/support/api/open-api';
import { until } from '@gwk/test/support/wait';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
});
afterEach(() => {
  api.cluster.mood = 'well';
});

const create = (name: string, fields: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  client.call<InstanceOut>('POST', '/v1/instances', { body: { name, ...fields }, headers });
const get = (id: string) => client.call<InstanceOut>('GET', `/v1/instances/${id}`);
const patch = (id: string, body: unknown, headers: Record<string, string> = {}) =>
  client.call<InstanceOut>('PATCH', `/v1/instances/${id}`, { body, headers });
const problemCode = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const toUuid = (id: string) => fromPublicId('instance', id)!;

/** More requests than one process has connections to Postgres. */
/** Time limit of a call to the cluster. */
const CLUSTER_TIMEOUT_MS = 2_500;
const HANGING = 20;

describe('creating', () => {
  test('a web instance is pending_pair, with its resource, row, counters, lease and state', async () => {
    const { status, body, headers } = await create('loja 1');
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^ins_[0-9a-f]{32}$/) as string,
      name: 'loja 1',
      kind: 'web',
      environment: 'production',
      state: 'pending_pair',
      jid: null,
      lid: null,
      business_name: null,
      interactive_mode: 'native+text',
      on_other_account: 'refuse',
      state_changed_at: expect.any(String) as string,
      created_at: expect.any(String) as string,
    });
    expect(headers.etag).toBe('"1"');
    const resource = api.cluster.resources.get(`default/${toResourceName(body.id)}`);
    expect(resource).toMatchObject({
      metadata: { labels: { 'gwk.dev/instance-id': body.id } },
      spec: { account: account.name, displayName: 'loja 1', kind: 'web' },
    });
    const row = await api.db.instance.findUnique({
      where: { id: toUuid(body.id) },
      include: { lease: true, counters: true, states: true },
    });
    expect(row).toMatchObject({
      resourceUid: resource!.metadata.uid,
      lease: { epoch: 0 },
      counters: { instanceId: toUuid(body.id) },
      states: [{ state: 'pending_pair', endedAt: null }],
    });
  });

  test('a sandbox is connecting', async () => {
    const { body } = await create('teste', { kind: 'sandbox', interactive_mode: 'text' });
    expect(body).toMatchObject({ kind: 'sandbox', state: 'connecting', interactive_mode: 'text' });
  });

  test('of concurrent requests with one name, one succeeds and the others leave no resource', async () => {
    const before = api.cluster.resources.size;
    const answers = await Promise.all(Array.from({ length: 8 }, () => create('a mesma')));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
    expect(new Set(answers.filter(({ status }) => status === 409).map(problemCode))).toEqual(
      new Set(['instance-name-taken']),
    );
    expect(api.cluster.resources.size).toBe(before + 1);
  });

  test('concurrent requests do not exceed the plan', async () => {
    account = await api.account({ maxInstances: 3 });
    client = await api.clientOf(account);
    const answers = await Promise.all(Array.from({ length: 6 }, (_, index) => create(`web ${index}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409]);
    expect(problemCode(answers.find(({ status }) => status === 409)!)).toBe('instance-limit-reached');
  });

  test('allows three sandboxes beside a full plan, and no fourth', async () => {
    account = await api.account({ maxInstances: 0 });
    client = await api.clientOf(account);
    expect(problemCode(await create('web'))).toBe('instance-limit-reached');
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, index) => create(`sandbox ${index}`, { kind: 'sandbox' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409]);
    expect(problemCode(answers.find(({ status }) => status === 409)!)).toBe('sandbox-limit-reached');
  });

  test('allows a name that another account uses', async () => {
    expect((await create('igual')).status).toBe(201);
    client = await api.clientOf(await api.account());
    expect((await create('igual')).status).toBe(201);
  });

  test('engine-unavailable while the cluster is unavailable, and no row or resource is left', async () => {
    api.cluster.mood = 'fails';
    const answer = await create('nova');
    expect([answer.status, problemCode(answer)]).toEqual([503, 'engine-unavailable']);
    expect(answer.headers['retry-after']).toBe('2');
    expect(await api.db.instance.count({ where: { accountId: account.id } })).toBe(0);
  });

  test('a hanging cluster holds no database connections and does not delay reads', async () => {
    account = await api.account({ maxInstances: HANGING });
    client = await api.clientOf(account);
    api.cluster.mood = 'hangs';
    const timeouts: (() => void)[] = [];
    const start = setTimeout;
    const timer = jest
      .spyOn(globalThis, 'setTimeout')
      .mockImplementation(((run: () => void, ms: number) =>
        ms === CLUSTER_TIMEOUT_MS ? void timeouts.push(run) : start(run, ms)) as typeof setTimeout);
    let answered = 0;
    const creates = Array.from({ length: HANGING }, (_, index) =>
      create(`h ${index}`).finally(() => answered++),
    );
    const hanging = Promise.all(creates);
    await until(() => api.cluster.hanging > 0, { what: 'the cluster hangs', everyMs: 1 });
    expect((await client.call('GET', '/v1/messages')).status).toBe(200);
    // A read that waited for a connection would wait until one of the requests fails.
    expect(answered).toBe(0);
    expect(timeouts.length).toBeGreaterThan(0);
    // The removal of their resources is refused at once.
    api.cluster.mood = 'fails';
    timer.mockRestore();
    for (const expire of timeouts) expire();
    expect(new Set((await hanging).map(({ status }) => status))).toEqual(new Set([503]));
  });

  test('a restricted key may not create: forbidden', async () => {
    const { body } = await create('dela');
    const restricted = await api.clientOf(account, { instances: [toUuid(body.id)] });
    const answer = await restricted.call('POST', '/v1/instances', { body: { name: 'outra' } });
    expect([answer.status, problemCode(answer)]).toEqual([403, 'forbidden']);
  });
});

describe('repeating a creation', () => {
  const key = (value: string) => ({ 'idempotency-key': value });

  test('returns the same answer, marked as replayed', async () => {
    const first = await create('uma', {}, key('k1'));
    const again = await create('uma', {}, key('k1'));
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.headers.etag).toBe(first.headers.etag);
    expect(first.headers['idempotent-replayed']).toBeUndefined();
  });

  test('with another body: idempotency-key-reused', async () => {
    await create('uma', {}, key('k2'));
    expect(problemCode(await create('outra', {}, key('k2')))).toBe('idempotency-key-reused');
  });

  test('concurrently creates one instance', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => create('só uma', {}, key('k3'))));
    const made = answers.filter(({ status }) => status === 201);
    expect(new Set(made.map(({ body }) => body.id)).size).toBe(1);
    const rest = answers.filter(({ status }) => status !== 201).map(problemCode);
    expect(new Set(rest.length === 0 ? ['idempotency-in-progress'] : rest)).toEqual(
      new Set(['idempotency-in-progress']),
    );
  });

  test('after a refusal may use the key again', async () => {
    await create('tomada');
    expect(problemCode(await create('tomada', {}, key('k4')))).toBe('instance-name-taken');
    expect((await create('livre', {}, key('k4'))).status).toBe(201);
  });

  test('after a failure half-way creates the same instance', async () => {
    api.cluster.mood = 'fails';
    expect((await create('meio', {}, key('k5'))).status).toBe(503);
    const [record] = await api.db.idempotencyRecord.findMany({ where: { accountId: account.id } });
    api.cluster.mood = 'well';
    const { status, body } = await create('meio', {}, key('k5'));
    expect([status, toUuid(body.id)]).toEqual([201, record!.resourceId]);
  });

  test('after a crash returns the instance that was created', async () => {
    const first = await create('feita', {}, key('k6'));
    // Simulates a crash between the commit and storing the answer.
    await api.db.idempotencyRecord.updateMany({
      where: { accountId: account.id },
      data: { status: null, responseSealed: null, lockedUntil: new Date(Date.now() - 1000) },
    });
    const again = await create('feita', {}, key('k6'));
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
  });
});

describe('reading', () => {
  test('pages are newest first and stable while new instances arrive', async () => {
    for (const name of ['1', '2', '3', '4', '5']) await create(name);
    const list = async (query: Record<string, string>) =>
      (await client.call<Page<InstanceOut>>('GET', '/v1/instances', { query })).body;
    const first = await list({ limit: '2' });
    await create('6');
    const second = await list({ limit: '2', cursor: first.next_cursor! });
    const third = await list({ limit: '2', cursor: second.next_cursor! });
    const names = [first, second, third].flatMap(({ data }) => data.map(({ name }) => name));
    expect(names).toEqual(['5', '4', '3', '2', '1']);
    expect(third.next_cursor).toBeNull();
  });

  test('instances of other accounts, invisible, deleted and absent ones: the same not-found', async () => {
    const { body: mine } = await create('minha');
    const { body: other } = await create('outra');
    const stranger = await api.clientOf(await api.account());
    const restricted = await api.clientOf(account, { instances: [toUuid(other.id)] });
    await client.call('DELETE', `/v1/instances/${(await create('apagada')).body.id}`);
    for (const [who, id] of [
      [stranger, mine.id],
      [restricted, mine.id],
      [client, `ins_${'0'.repeat(32)}`],
      [client, 'ins_1'],
      [client, '%20'],
    ] as const) {
      const answer = await who.call('GET', `/v1/instances/${id}`);
      expect([answer.status, problemCode(answer)]).toEqual([404, 'not-found']);
    }
    expect((await restricted.call('GET', `/v1/instances/${other.id}`)).status).toBe(200);
    const list = await restricted.call<Page<InstanceOut>>('GET', '/v1/instances');
    expect(list.body.data.map(({ id }) => id)).toEqual([other.id]);
  });

  test('omits live if no engine has the lease', async () => {
    const { body } = await create('quieta');
    expect((await get(body.id)).body).not.toHaveProperty('live');
  });
});

describe('updating', () => {
  test('changes name, mode and policy, together with the resource and the ETag', async () => {
    const { body, headers } = await create('antes');
    const changed = await patch(body.id, {
      name: 'depois',
      interactive_mode: 'text',
      policy: { messages_per_minute: 10 },
    });
    expect(changed.body).toMatchObject({ name: 'depois', interactive_mode: 'text' });
    expect(changed.headers.etag).not.toBe(headers.etag);
    expect(api.cluster.resources.get(`default/${toResourceName(body.id)}`)!.spec).toMatchObject({
      displayName: 'depois',
      interactiveMode: 'text',
      policy: { messages_per_minute: 10 },
    });
    const row = await api.db.instance.findUnique({ where: { id: toUuid(body.id) } });
    expect(row).toMatchObject({ policy: { messages_per_minute: 10 } });
  });

  test('null keeps name and mode, and resets the policy', async () => {
    const { body } = await create('n');
    await patch(body.id, { policy: { menu_ttl_hours: 2 } });
    const { body: after } = await patch(body.id, { name: null, interactive_mode: null, policy: null });
    expect(after).toMatchObject({ name: 'n', interactive_mode: 'native+text' });
    expect(await api.db.instance.findUnique({ where: { id: toUuid(body.id) } })).toMatchObject({
      policy: {},
    });
  });

  test('If-Match accepts one of two concurrent writers', async () => {
    const { body, headers } = await create('disputada');
    const match = { 'if-match': headers.etag! };
    const answers = await Promise.all([
      patch(body.id, { name: 'a' }, match),
      patch(body.id, { name: 'b' }, match),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    expect((await patch(body.id, { name: 'c' }, { 'if-match': '*' })).status).toBe(200);
    expect(problemCode(await patch(body.id, { name: 'd' }, { 'if-match': 'W/"3"' }))).toBe(
      'precondition-failed',
    );
  });

  test('a change with kubectl makes If-Match fail', async () => {
    const { body, headers } = await create('de dois');
    api.cluster.edit(toResourceName(body.id), { interactiveMode: 'native' });
    const answer = await patch(body.id, { name: 'x' }, { 'if-match': headers.etag! });
    expect(answer.status).toBe(412);
    expect((await get(body.id)).body.interactive_mode).toBe('native+text');
  });

  test('keeps a change with kubectl made between read and write', async () => {
    const { body } = await create('de três');
    api.cluster.beforeWrite = () => {
      api.cluster.edit(toResourceName(body.id), { interactiveMode: 'native' });
    };
    const answer = await patch(body.id, { name: 'y' });
    expect(answer.body).toMatchObject({ name: 'y', interactive_mode: 'native' });
  });

  test.each([
    ['an unknown field', { nmae: 'x' }, 'validation-error'],
    ['a name of 81 characters', { name: 'é'.repeat(81) }, 'validation-error'],
    ['an empty name', { name: '' }, 'validation-error'],
    ['an unknown mode', { interactive_mode: 'loud' }, 'validation-error'],
    ['an unknown policy', { policy: { colour: 1 } }, 'validation-error'],
    ['a negative policy value', { policy: { messages_per_minute: -1 } }, 'invalid-policy'],
    ['a bad time', { policy: { active_hours: { start: '25:00' } } }, 'invalid-policy'],
    [
      'an unknown time zone',
      { policy: { active_hours: { start: '08:00', end: '18:00', timezone: 'Mars/Base' } } },
      'invalid-timezone',
    ],
  ])('refuses %s before it looks up anything', async (_, body, code) => {
    const answer = await patch(`ins_${'0'.repeat(32)}`, body);
    expect([answer.status, problemCode(answer)]).toEqual([422, code]);
  });

  test('a name of another instance: instance-name-taken', async () => {
    await create('um');
    const { body } = await create('dois');
    expect(problemCode(await patch(body.id, { name: 'um' }))).toBe('instance-name-taken');
    expect(api.cluster.resources.get(`default/${toResourceName(body.id)}`)!.spec.displayName).toBe('dois');
  });
});

describe('deleting', () => {
  test('deletes the resource and the session keys, frees the name, and answers 404 from then on', async () => {
    const { body } = await create('adeus');
    const id = toUuid(body.id);
    await api.db.sessionKey.create({
      data: { instanceId: id, type: 't', key: 'k', valueSealed: new Uint8Array([1]) },
    });
    expect((await client.call('DELETE', `/v1/instances/${body.id}`)).status).toBe(204);
    expect((await get(body.id)).status).toBe(404);
    expect((await client.call('DELETE', `/v1/instances/${body.id}`)).status).toBe(404);
    expect(api.cluster.resources.has(`default/${toResourceName(body.id)}`)).toBe(false);
    expect(await api.db.sessionKey.count({ where: { instanceId: id } })).toBe(0);
    expect((await create('adeus')).status).toBe(201);
    const trace = await api.db.auditEntry.findMany({ where: { subject: id }, orderBy: { id: 'asc' } });
    expect(trace.map(({ action }) => action)).toEqual(['instance.create', 'instance.delete']);
  });

  test('deletes while the cluster is unavailable, and refuses the resource from then on', async () => {
    const { body } = await create('sozinha');
    api.cluster.mood = 'fails';
    expect((await client.call('DELETE', `/v1/instances/${body.id}`)).status).toBe(204);
    expect((await get(body.id)).status).toBe(404);
  });

  test('cancels queued messages, with events', async () => {
    const { body } = await create('com fila');
    await api.db.instance.update({ where: { id: toUuid(body.id) }, data: { state: 'connected' } });
    const sent = await client.call<{ id: string }>('POST', '/v1/messages', {
      body: { instance_id: body.id, to: '5511987654321', type: 'text', text: { body: 'oi' } },
    });
    expect(sent.status).toBe(202);
    await client.call('DELETE', `/v1/instances/${body.id}`);
    const message = await client.call('GET', `/v1/messages/${sent.body.id}`);
    expect(message.body).toMatchObject({ status: 'failed', error: { code: 'canceled' } });
    const query = { type: 'message.failed' };
    const events = await client.call<Page<{ type: string; data: unknown }>>('GET', '/v1/events', { query });
    expect(events.body.data).toEqual([
      expect.objectContaining({
        type: 'message.failed',
        data: expect.objectContaining({
          error: { code: 'canceled', message: FAILURE_TEXTS.canceled.en },
        }) as unknown,
      }),
    ]);
  });
});
