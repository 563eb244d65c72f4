import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { EventOut } from '../resources/event.js';
import type { InstanceOut } from '../resources/instance.js';
import type { MessageOut } from '@gwk/core/resources/message';
import type { OptOutOut } from '../resources/opt-out.js';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let sandbox: string;
beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  sandbox = await newSandbox();
});

const PATH = '/v1/opt-outs';
const ANA = '5511987654321';
const newSandbox = async () => {
  const body = { name: newUuid(), kind: 'sandbox' };
  return (await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id;
};
const add = <T = OptOutOut>(phone: unknown = ANA, by = client, headers: Record<string, string> = {}) =>
  by.call<T>('POST', PATH, { body: { phone }, headers });
const list = async (query: Record<string, string> = {}) =>
  (await client.call<Page<OptOutOut>>('GET', PATH, { query })).body;
const phones = async (phone: string) => (await list({ phone })).data.map((one) => one.phone);
const remove = (phone: string, by = client) => by.call('DELETE', `${PATH}/${phone}`);
const send = (to = ANA) =>
  client.call<MessageOut>('POST', '/v1/messages', {
    body: { instance_id: sandbox, to, type: 'text', text: { body: newUuid() } },
  });
const problemCode = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const receiveText = (text: string, from = ANA) =>
  client.call('POST', `/v1/instances/${sandbox}/sandbox/inbound`, { body: { from, text } });

test('201 for a new opt-out, 200 with the first one afterwards; sends are refused until it is removed', async () => {
  const first = await add();
  expect(first.status).toBe(201);
  expect(first.body).toEqual({
    phone: ANA,
    contact_id: null,
    username: null,
    source: 'api',
    keyword: null,
    instance_id: null,
    scope: 'account',
    created_at: expect.any(String) as string,
  });
  const again = await add();
  expect([again.status, again.body]).toEqual([200, first.body]);
  const refused = await send();
  expect([refused.status, problemCode(refused)]).toEqual([422, 'contact-opted-out']);
  expect((await remove(ANA)).status).toBe(204);
  expect((await send()).status).toBe(202);
});

/** Opts the contact out as a word to a real number does. */
const optOutByWord = async (keyword: string) => {
  await receiveText('oi');
  const where = { accountId: account.id, name: ANA };
  const { contactId } = await api.db.contactName.findFirstOrThrow({ where });
  const instanceId = fromPublicId('instance', sandbox);
  await api.db.optOut.create({
    data: { id: newUuid(), contactId, accountId: account.id, source: 'keyword', keyword, instanceId },
  });
};

test('registering an opt-out by API keeps one that the contact made by keyword', async () => {
  await optOutByWord('PARAR');
  const { status, body } = await add();
  expect(status).toBe(200);
  expect(body).toMatchObject({ source: 'keyword', keyword: 'PARAR', instance_id: sandbox });
});

test('matches a Brazilian number with and without the ninth digit', async () => {
  const without = '551187654321';
  expect((await add(without)).status).toBe(201);
  expect((await add(ANA)).status).toBe(200);
  expect(problemCode(await send(ANA))).toBe('contact-opted-out');
  expect(problemCode(await send(without))).toBe('contact-opted-out');
  expect(await phones('87654321')).toEqual([without]);
  expect(await phones('11987')).toEqual([without]);
  expect((await remove(ANA)).status).toBe(204);
  expect((await send(without)).status).toBe(202);
});

test.each([
  ['Mexico', '5215512345678', '525512345678'],
  ['Argentina', '5491123456789', '541123456789'],
])('%s: matches the other form of the number', async (_, long, short) => {
  await add(long);
  expect((await add(short)).status).toBe(200);
  expect(await phones(short)).toEqual([long]);
  expect(await phones(long)).toEqual([long]);
});

test('fails queued messages with events, and emits no event of the contact', async () => {
  const { body: message } = await send();
  await add();
  const failed = await client.call<MessageOut>('GET', `/v1/messages/${message.id}`);
  expect(failed.body).toMatchObject({ status: 'failed', error: { code: 'opted_out' } });
  const events = await client.call<Page<EventOut>>('GET', '/v1/events', { query: { instance_id: sandbox } });
  expect(events.body.data.map(({ type }) => type)).toEqual(['message.failed']);
  expect(events.body.data[0]!.data).toMatchObject({ message_id: message.id, error: { code: 'opted_out' } });
});

test('lists newest first, in pages, filtered by a part of the phone number', async () => {
  const made = ['5521911110001', '5521911110002', '5531922220003'];
  for (const phone of made) await add(phone);
  expect((await list()).data.map(({ phone }) => phone)).toEqual([...made].reverse());
  const first = await list({ limit: '2' });
  const second = await list({ limit: '2', cursor: first.next_cursor! });
  expect([...first.data, ...second.data].map(({ phone }) => phone)).toEqual([...made].reverse());
  expect(second.next_cursor).toBeNull();
  expect(await phones('5521')).toEqual(['5521911110002', '5521911110001']);
  expect(await phones('220003')).toEqual(['5531922220003']);
  expect(await phones('999')).toEqual([]);
  expect((await list({ phone: '' })).data).toHaveLength(3);
});

test('lists an opt-out by keyword with its contact id, to its own account only', async () => {
  await receiveText('SAIR', '5541933330001');
  expect((await list()).data).toMatchObject([
    {
      phone: '5541933330001',
      contact_id: '5541933330001@s.whatsapp.net',
      source: 'keyword',
      keyword: 'SAIR',
    },
  ]);
  const other = await api.clientOf(await api.account());
  expect((await other.call<Page<OptOutOut>>('GET', PATH)).body.data).toEqual([]);
  expect((await remove('5541933330001', other)).status).toBe(404);
  expect((await list()).data).toHaveLength(1);
});

test('answers a repeat with the same Idempotency-Key like the first request', async () => {
  const headers = { 'idempotency-key': 'k' };
  expect((await add(ANA, client, headers)).status).toBe(201);
  await remove(ANA);
  const again = await add(ANA, client, headers);
  expect([again.status, again.headers['idempotent-replayed']]).toEqual([201, 'true']);
  expect((await list()).data).toEqual([]);
});

describe('restricted keys', () => {
  let restricted: ApiClient;
  beforeEach(async () => {
    restricted = await api.clientOf(account, { instances: [fromPublicId('instance', await newSandbox())!] });
  });

  test('may add', async () => {
    expect((await add(ANA, restricted)).status).toBe(201);
  });

  test('do not learn which other instance or keyword made an opt-out', async () => {
    await optOutByWord('SAIR');
    const { status, body } = await add(ANA, restricted);
    expect(status).toBe(200);
    expect(body).toMatchObject({ source: 'keyword', keyword: null, instance_id: null });
  });

  test('do not get an idempotent answer of another key', async () => {
    await optOutByWord('SAIR');
    const headers = { 'idempotency-key': 'shared' };
    expect((await add(ANA, client, headers)).body.instance_id).toBe(sandbox);
    expect(problemCode(await add(ANA, restricted, headers))).toBe('not-found');
  });

  test('may neither list nor remove: 403 forbidden', async () => {
    await add();
    for (const answer of [await restricted.call('GET', PATH), await remove(ANA, restricted)]) {
      expect([answer.status, problemCode(answer)]).toEqual([403, 'forbidden']);
    }
    expect((await list()).data).toHaveLength(1);
  });
});

describe('refusals', () => {
  test('DELETE of an absent opt-out, contact known or not: 404 not-found', async () => {
    await receiveText('oi');
    for (const phone of [ANA, '5511900000009']) {
      const answer = await remove(phone);
      expect([answer.status, problemCode(answer)]).toEqual([404, 'not-found']);
    }
    expect(await api.db.contactName.count({ where: { accountId: account.id, name: '5511900000009' } })).toBe(
      0,
    );
  });

  test.each(['123456789', '1234567890123456', '+5511987654321', '55 11 987654321', '', 5511987654321, null])(
    'phone %s: validation-error',
    async (phone) => {
      const answer = await add<{ errors: { path: string }[] }>(phone);
      expect([answer.status, problemCode(answer)]).toEqual([422, 'validation-error']);
      expect(answer.body.errors.map(({ path }) => path)).toEqual(['phone']);
    },
  );

  test('accepts 10 and 15 digits, and rejects an unknown field', async () => {
    expect((await add('1234567890')).status).toBe(201);
    expect((await add('123456789012345')).status).toBe(201);
    const body = { phone: ANA, reason: 'x' };
    expect(problemCode(await client.call('POST', PATH, { body }))).toBe('validation-error');
  });

  test('DELETE of an invalid phone number, a filter of 16 characters: validation-error', async () => {
    expect(problemCode(await remove('123456789'))).toBe('validation-error');
    expect(problemCode(await remove('ana'))).toBe('validation-error');
    const query = { phone: '1234567890123456' };
    expect(problemCode(await client.call('GET', PATH, { query }))).toBe('validation-error');
  });

  test('reading needs messages:read, writing needs messages:send', async () => {
    const reader = await api.clientOf(account, { scopes: ['messages:read'] });
    const sender = await api.clientOf(account, { scopes: ['messages:send'] });
    expect((await reader.call('GET', PATH)).status).toBe(200);
    expect(problemCode(await add(ANA, reader))).toBe('insufficient-scope');
    expect(problemCode(await remove(ANA, reader))).toBe('insufficient-scope');
    expect((await add(ANA, sender)).status).toBe(201);
    expect(problemCode(await sender.call('GET', PATH))).toBe('insufficient-scope');
    expect((await remove(ANA, sender)).status).toBe(204);
  });

  test('a cursor of another filter: invalid-cursor', async () => {
    await add('5521911110001');
    await add('5521911110002');
    const { next_cursor: cursor } = await list({ limit: '1' });
    const query = { cursor: cursor!, phone: '55' };
    expect(problemCode(await client.call('GET', PATH, { query }))).toBe('invalid-cursor');
  });
});
