import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { Page } from '@gwk/core/resources/common';
import type { InstanceOut } from '../resources/instance.js';
import type { OptOutOut } from '../resources/opt-out.js';
import type { ApiClient } from '@gwk/test/support/api/client';
import type { FakeEngine } from '@gwk/test/support/api/fake-engine';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';

/** Opt-outs of people who are known by a network id, with and without a phone number. */
let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let instance: string;
let engine: FakeEngine;
beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  instance = (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'shop' } })).body.id;
  engine = await api.engine(instance);
  await engine.connect();
});

const PATH = '/v1/opt-outs';
const LID = '20000000001@lid';
const PHONE = '5511987654321';
const JID = `${PHONE}@s.whatsapp.net`;
const add = (body: unknown, headers = {}) => client.call<OptOutOut>('POST', PATH, { body, headers });
const remove = (name: string) => client.call('DELETE', `${PATH}/${encodeURIComponent(name)}`);
const list = async (query: Record<string, string> = {}) =>
  (await client.call<Page<OptOutOut>>('GET', PATH, { query })).body.data;
const send = async (to: string) => {
  const body = { instance_id: instance, to, type: 'text', text: { body: newUuid() } };
  const answer = await client.call('POST', '/v1/messages', { body });
  return answer.status === 202 ? 'accepted' : problemCode(answer);
};
const problemCode = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const seen = (from: string, given: Partial<InboundMessage> = {}, by = engine) =>
  by.call('inbound', {
    messages: [
      {
        wa_message_id: newUuid(),
        chat: from,
        from,
        from_name: null,
        from_me: false,
        at: new Date().toISOString(),
        type: 'text',
        text: 'oi',
        quoted_wa_message_id: null,
        ...given,
      },
    ],
  });

test('a person without a phone number: refused until the opt-out is removed by the id', async () => {
  const { status, body } = await add({ contact: LID });
  expect(status).toBe(201);
  expect(body).toMatchObject({ phone: null, contact_id: LID, source: 'api', scope: 'account' });
  expect(await send(LID)).toBe('contact-opted-out');
  const again = await add({ contact: '20000000001:3@lid', phone: null });
  expect([again.status, again.body]).toEqual([200, body]);
  expect(await list()).toEqual([body]);
  expect((await remove(LID)).status).toBe(204);
  expect(await send(LID)).toBe('accepted');
  expect((await remove(LID)).status).toBe(404);
});

test('a phone number written as a network id is the same contact', async () => {
  expect((await add({ contact: JID })).body).toMatchObject({ phone: PHONE, contact_id: JID });
  expect((await add({ phone: PHONE })).status).toBe(200);
  expect(await send(PHONE)).toBe('contact-opted-out');
  expect((await remove(JID)).status).toBe(204);
  expect(await send(PHONE)).toBe('accepted');
});

test('holds under each name once the network links them, and each name removes it', async () => {
  for (const [given, other] of [
    [{ contact: LID }, PHONE],
    [{ phone: PHONE }, LID],
  ] as const) {
    await add(given);
    await seen(LID, { alt: JID });
    for (const to of [LID, PHONE, JID]) expect(await send(to)).toBe('contact-opted-out');
    expect(await list()).toMatchObject([{ phone: PHONE }]);
    expect((await remove(other)).status).toBe(204);
    for (const to of [LID, PHONE, JID]) expect(await send(to)).toBe('accepted');
  }
});

test('a resume word ends it', async () => {
  await seen(LID);
  await add({ contact: LID });
  await seen(LID, { text: 'VOLTAR' });
  expect(await list()).toEqual([]);
  expect(await send(LID)).toBe('accepted');
});

test('the filter `contact` finds the person under each name', async () => {
  await seen(LID, { alt: JID });
  await add({ contact: LID });
  await add({ phone: '5511922220000' });
  for (const contact of [LID, JID, '551187654321@s.whatsapp.net'])
    expect(await list({ contact })).toMatchObject([{ phone: PHONE, contact_id: LID }]);
  expect(await list({ contact: LID, phone: '8765' })).toHaveLength(1);
  expect(await list({ contact: LID, phone: '2222' })).toEqual([]);
  expect(await list({ contact: '20000000009@lid' })).toEqual([]);
});

test.each<[string, () => Promise<unknown>]>([
  ['`contact`', () => add({ contact: LID })],
  ['word', () => seen(LID, { text: 'SAIR' })],
])(
  'an opt-out by %s stops sends to a phone number that another instance has seen with another LID',
  async (_name, optOut) => {
    const { body } = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'other' } });
    const other = await api.engine(body.id);
    await other.connect();
    await seen('20000000002@lid', { alt: JID }, other);
    await seen(LID, { alt: JID });
    expect(await send(PHONE)).toBe('accepted');
    await optOut();
    for (const to of [LID, PHONE]) expect(await send(to)).toBe('contact-opted-out');
    expect(await list()).toMatchObject([{ phone: PHONE, contact_id: LID }]);
  },
);

describe('a phone number that passes to another person', () => {
  const NEXT = '20000000002@lid';
  beforeEach(() => seen(LID, { alt: JID }));

  test('an opt-out by `contact` stays with the person', async () => {
    await add({ contact: LID });
    await seen(NEXT, { alt: JID });
    expect(await send(LID)).toBe('contact-opted-out');
    for (const to of [PHONE, NEXT]) expect(await send(to)).toBe('accepted');
  });

  test.each<[string, () => Promise<unknown>]>([
    ['`contact`', () => add({ contact: LID })],
    ['word', () => seen(LID, { text: 'SAIR' })],
  ])('an opt-out by `phone` and then by %s stays with the person', async (_name, again) => {
    await add({ phone: PHONE });
    await again();
    expect(await list()).toMatchObject([{ phone: PHONE, contact_id: LID, source: 'api' }]);
    await seen(NEXT, { alt: JID });
    expect(await send(LID)).toBe('contact-opted-out');
    expect(await send(NEXT)).toBe('accepted');
  });

  test.each<[string, string]>([
    ['first', '5531911110001'],
    ['last', '5531911110002'],
  ])(
    'opt-outs of both names stay with the person after a merge, the phone number opted out %s',
    async (order, phone) => {
      const lid = `3000000000${order.length}@lid`;
      const bodies = [{ phone }, { contact: lid }];
      for (const body of order === 'first' ? bodies : bodies.reverse()) await add(body);
      await seen(lid, { alt: `${phone}@s.whatsapp.net` });
      await seen(NEXT, { alt: `${phone}@s.whatsapp.net` });
      expect(await send(lid)).toBe('contact-opted-out');
      expect(await send(NEXT)).toBe('accepted');
    },
  );

  test.each(['api', 'panel'])('an opt-out by `phone` goes with it, source %s', async (source) => {
    await add({ phone: PHONE });
    await api.db.optOut.updateMany({ where: { accountId: account.id }, data: { source } });
    await seen(NEXT, { alt: JID });
    for (const to of [PHONE, NEXT]) expect(await send(to)).toBe('contact-opted-out');
    expect(await send(LID)).toBe('accepted');
  });
});

test('a restricted key may add one by id and not remove it', async () => {
  const restricted = await api.clientOf(account, { instances: [fromPublicId('instance', instance)!] });
  expect((await restricted.call('POST', PATH, { body: { contact: LID } })).status).toBe(201);
  expect(problemCode(await restricted.call('DELETE', `${PATH}/${LID}`))).toBe('forbidden');
});

test('answers a restricted key with the ids that it named or that its instances know', async () => {
  const { body } = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'other' } });
  const other = await api.engine(body.id);
  await other.connect();
  await seen(LID, { username: 'one' });
  await seen(LID, { username: 'two', alt: JID }, other);
  const keyOf = (id: string) => api.clientOf(account, { instances: [fromPublicId('instance', id)!] });
  for (const [by, given, expected] of [
    [instance, { contact: LID }, { phone: null, contact_id: LID, username: 'one' }],
    [instance, { phone: PHONE }, { phone: PHONE, contact_id: JID, username: null }],
    [body.id, { contact: LID }, { phone: PHONE, contact_id: LID, username: 'two' }],
  ] as const) {
    const answer = await (await keyOf(by)).call<OptOutOut>('POST', PATH, { body: given });
    expect(answer.body).toMatchObject(expected);
  }
  expect(await list()).toMatchObject([{ phone: PHONE, contact_id: LID, username: 'two' }]);
});

describe('refusals', () => {
  test.each<[string, unknown, string[]]>([
    ['neither name', {}, ['phone']],
    ['both names', { phone: PHONE, contact: LID }, ['phone']],
    ['a group', { contact: '120363000000000001@g.us' }, ['contact']],
    ['digits as an id', { contact: PHONE }, ['contact']],
    ['an unknown server', { contact: '20000000001@hosted' }, ['contact']],
    ['a long id', { contact: `${'1'.repeat(21)}@lid` }, ['contact']],
  ])('%s: validation-error', async (_name, body, paths) => {
    const answer = await client.call<{ errors: { path: string }[] }>('POST', PATH, { body });
    expect([answer.status, problemCode(answer)]).toEqual([422, 'validation-error']);
    expect(answer.body.errors.map(({ path }) => path)).toEqual(paths);
  });

  test('a group or a name in a path, and in a filter: validation-error', async () => {
    for (const name of ['120363000000000001@g.us', 'ana', '123@lid'])
      expect(problemCode(await remove(name))).toBe('validation-error');
    const query = { contact: PHONE };
    expect(problemCode(await client.call('GET', PATH, { query }))).toBe('validation-error');
  });
});
