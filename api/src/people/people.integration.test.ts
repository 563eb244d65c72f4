import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { ConsolePersonOut } from '../resources/console/person.js';
import type { InstanceOut } from '../resources/instance.js';
import type { ApiClient } from '@gwk/test/support/api/client';
import { openBrowser, type Browser } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let browser: Browser;
let instance: string;
beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  browser = await openBrowser(api, account, 'agent');
  instance = (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'shop' } })).body.id;
  const engine = await api.engine(instance);
  await engine.connect();
  const seen = (from: string, from_name: string | null, more = {}) => ({
    ...{ wa_message_id: newUuid(), chat: from, from, from_name, from_me: false, quoted_wa_message_id: null },
    ...{ at: new Date().toISOString(), type: 'text' as const, text: 'oi', ...more },
  });
  const messages = [
    seen(EVA, 'Eva 100%', { username: 'eva.named' }),
    seen(ANA, 'Ana Maria', { alt: '5511987654321@s.whatsapp.net' }),
    seen('5521922220000@s.whatsapp.net', null),
  ];
  await engine.call('inbound', { messages });
});

const EVA = '101234567890001@lid';
const ANA = '101234567890002@lid';
const eva = { id: EVA, phone: null, username: 'eva.named', name: 'Eva 100%' };
const ana = { id: ANA, phone: '5511987654321', username: null, name: 'Ana Maria' };
const nobody = { id: '5521922220000@s.whatsapp.net', phone: '5521922220000', username: null, name: null };

const find = async (query: Record<string, string>, by = browser) => {
  const path = `/console/api/people?${String(new URLSearchParams(query))}`;
  return by.call<{ data: ConsolePersonOut[]; errors: { path: string }[] }>('GET', path);
};
const search = async (text: string, by = browser) => (await find({ search: text }, by)).body.data;

test.each([
  ['a part of the name in other letters', 'maria', [ana]],
  ['a part of the phone number', '8765', [ana]],
  ['the phone number as people write it', '+55 (11) 98765-4321', [ana]],
  ['the phone number without the ninth digit', '551187654321', [ana]],
  ['the username', '@eva.named', [eva]],
  ['a part of the username in other letters', 'A.NAM', [eva]],
  ['the id', EVA, [eva]],
  ['a part of the id', '10123456789', [ana, eva]],
  ['the network id of the phone number', nobody.id, [nobody]],
  ['a wildcard as it is', '100%', [eva]],
  ['a wildcard that nobody has', '_', []],
  ['two digits, which are in no name', '55', []],
])('finds people by %s', async (_name, text, expected) => {
  const found = expected.map((person) => ({ asked: null, ...person }));
  expect(await search(text)).toMatchObject(found);
  expect(await search(text)).toHaveLength(found.length);
});

test('names the people of a list by the names that it has, and misses groups and strangers', async () => {
  const names = ['5511987654321', '551187654321', EVA, '120363000000000001@g.us', '5511900000000', 'x'];
  const { data } = (await find({ names: names.join(',') })).body;
  expect(data.map(({ asked }) => asked).sort()).toEqual(names.slice(0, 3).sort());
  expect(data).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ asked: '5511987654321', ...ana }),
      expect.objectContaining({ asked: '551187654321', ...ana }),
      expect.objectContaining({ asked: EVA, ...eva }),
    ]),
  );
});

test('a username of a sandbox counts for people of sandboxes only', async () => {
  const body = { name: 'test', kind: 'sandbox' };
  const sandbox = (await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id;
  for (const from of ['5511987654321', '5531944440000'])
    await client.call('POST', `/v1/instances/${sandbox}/sandbox/inbound`, { body: { from, text: 'oi' } });
  const where = { instanceId: fromPublicId('instance', sandbox)! };
  await api.db.conversation.updateMany({ where, data: { username: 'made.up' } });
  const found = (await find({ names: '5511987654321,5531944440000' })).body.data;
  expect(new Map(found.map(({ asked, username }) => [asked, username]))).toEqual(
    new Map([
      ['5511987654321', null],
      ['5531944440000', 'made.up'],
    ]),
  );
  expect(await search('made.up')).toMatchObject([{ phone: '5531944440000', username: 'made.up' }]);
});

test('shows a restricted member the people of its numbers, and none of another account', async () => {
  const other = (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'other' } })).body
    .id;
  const uuidOf = (id: string) => fromPublicId('instance', id)!;
  const restricted = await openBrowser(api, account, 'agent', [uuidOf(other)]);
  expect(await search('Eva', restricted)).toEqual([]);
  expect((await find({ names: EVA }, restricted)).body.data).toEqual([]);
  const allowed = await openBrowser(api, account, 'agent', [uuidOf(instance)]);
  expect(await search('Eva', allowed)).toMatchObject([eva]);
  expect(await search('Eva', await openBrowser(api, await api.account()))).toEqual([]);
});

describe('a restricted member, of a person whose phone number and username only another number knows', () => {
  const OWN = { id: EVA, phone: null, username: 'eva.named', name: 'Eva 100%' };
  let restricted: Browser;
  beforeEach(async () => {
    const { id } = (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'other' } }))
      .body;
    const other = await api.engine(id);
    await other.connect();
    const seen = { wa_message_id: newUuid(), chat: EVA, from: EVA, from_name: null, from_me: false };
    const more = { quoted_wa_message_id: null, type: 'text' as const, text: 'oi', username: 'eva.new' };
    const at = new Date().toISOString();
    await other.call('inbound', {
      messages: [{ ...seen, ...more, at, alt: '5531955550000@s.whatsapp.net' }],
    });
    restricted = await openBrowser(api, account, 'agent', [fromPublicId('instance', instance)!]);
  });

  test('shows what its own numbers know', async () => {
    expect(await search('Eva', restricted)).toEqual([{ asked: null, ...OWN }]);
    expect((await find({ names: EVA }, restricted)).body.data).toEqual([{ asked: EVA, ...OWN }]);
    expect(await search('Eva')).toMatchObject([{ phone: '5531955550000', username: 'eva.new' }]);
  });

  test('finds them by nothing else', async () => {
    for (const text of ['eva.new', '5555', '5531955550000']) {
      expect(await search(text, restricted)).toEqual([]);
      expect(await search(text)).toHaveLength(1);
    }
    expect((await find({ names: '5531955550000' }, restricted)).body.data).toEqual([]);
    for (const text of ['eva.named', EVA, '101234567890001'])
      expect(await search(text, restricted)).toMatchObject([OWN]);
    expect(await search('551187654321', restricted)).toMatchObject([ana]);
    expect(await search('2222', restricted)).toMatchObject([nobody]);
    expect((await find({ names: '551187654321,5521922220000' }, restricted)).body.data).toHaveLength(2);
  });

  test('knows a person by the id that it was written to', async () => {
    const [to, alt] = ['101234567890009@lid', '5531966660000@s.whatsapp.net'];
    const body = { instance_id: instance, to, type: 'text', text: { body: 'oi' } };
    expect((await client.call('POST', '/v1/messages', { body })).status).toBe(202);
    await api.db.contactName.create({ data: await phoneOf(to, '5531966660000') });
    expect((await find({ names: to }, restricted)).body.data).toMatchObject([{ id: to, phone: null }]);
    expect((await find({ names: alt }, restricted)).body.data).toEqual([]);
    expect(await search('6666', restricted)).toEqual([]);
  });
});

/** Another phone number of a contact, as another instance would link it. */
const phoneOf = async (lid: string, name: string) => {
  const where = { accountId_name: { accountId: account.id, name: lid } };
  const { contactId } = await api.db.contactName.findUniqueOrThrow({ where });
  return { accountId: account.id, name, contactId };
};

test('refuses neither, both and too many', async () => {
  const many = Array.from({ length: 201 }, (_, i) => String(5511900000000 + i)).join(',');
  for (const query of [{}, { search: 'a', names: EVA }, { names: many }]) {
    const { status, body } = await find(query as Record<string, string>);
    expect([status, body.errors.length]).toEqual([422, 1]);
  }
});
