import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { Page } from '@gwk/core/resources/common';
import type { MessageOut } from '@gwk/core/resources/message';
import type { ApiClient } from '@gwk/test/support/api/client';
import type { FakeEngine } from '@gwk/test/support/api/fake-engine';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import type { ContactOut, ConversationOut } from '../resources/conversation.js';
import type { EventOut } from '../resources/event.js';
import type { InstanceOut } from '../resources/instance.js';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let shop: string;
let engine: FakeEngine;
beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  [shop, engine] = await startInstance('shop');
});

const ANA = '101234567890002@lid';
const EVA = '101234567890001@lid';
const BOB = '5521922220000@s.whatsapp.net';
const GROUP = '120363000000000001@g.us';

async function startInstance(name: string): Promise<[string, FakeEngine]> {
  const { id } = (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name } })).body;
  const started = await api.engine(id);
  await started.connect();
  return [id, started];
}

function seen(from: string, more: Partial<InboundMessage> = {}): InboundMessage {
  const at = new Date().toISOString();
  const named = { wa_message_id: newUuid(), chat: from, from, from_name: null, from_me: false, at };
  return { ...named, type: 'text', text: 'oi', quoted_wa_message_id: null, ...more };
}
const receive = (by: FakeEngine, ...messages: InboundMessage[]) => by.call('inbound', { messages });
const fromAna = (more: Partial<InboundMessage> = {}) =>
  seen(ANA, { from_name: 'Ana Conceição', alt: '5511987654321@s.whatsapp.net', ...more });
const fromEva = () => seen(EVA, { from_name: 'Eva 100%', username: 'eva.named' });
const inGroup = () => seen(GROUP, { from: EVA });

const list = async (query: Record<string, string> = {}, by = client) =>
  (await by.call<Page<ConversationOut>>('GET', '/v1/conversations', { query })).body;
const people = async (query: Record<string, string> = {}, by = client) =>
  (await by.call<Page<ContactOut>>('GET', '/v1/contacts', { query })).body;
const send = async (to: string) => {
  const body = { instance_id: shop, to, type: 'text', text: { body: 'hello' } };
  return (await client.call<MessageOut>('POST', '/v1/messages', { body })).body;
};
const find = async (id: string) =>
  (await list()).data.find(({ contact, group }) => (contact ?? group)?.id === id)!;

test('shows conversations with their newest message, the most recently active first', async () => {
  await receive(engine, fromAna());
  await receive(engine, inGroup());
  await receive(engine, seen(BOB));
  const { id } = await send('5511987654321');
  const { data } = await list({ instance_id: shop });
  expect(data).toMatchObject([
    {
      instance_id: shop,
      kind: 'contact',
      contact: { id: ANA, phone: '5511987654321', username: null, name: 'Ana Conceição' },
      group: null,
      last_message: { id, direction: 'outbound', type: 'text', status: 'queued' },
      unread_count: 1,
      opted_out: false,
    },
    { kind: 'contact', contact: { id: BOB, phone: '5521922220000' } },
    { kind: 'group', contact: null, group: { id: GROUP, subject: null }, unread_count: 1 },
  ]);
  expect(data[0]!.active_at).toBe(data[0]!.last_message!.created_at);
  expect(data[2]!.last_message).toMatchObject({ direction: 'inbound', status: 'delivered' });
});

test('shows one conversation, which its messages name, and none of others', async () => {
  await receive(engine, fromAna());
  const shown = await find(ANA);
  expect((await client.call('GET', `/v1/conversations/${shown.id}`)).body).toEqual(shown);
  const { data } = (await client.call<Page<MessageOut>>('GET', '/v1/messages')).body;
  expect(data).toMatchObject([{ conversation_id: shown.id }]);
  const foreign = await api.clientOf(await api.account());
  const restricted = await api.clientOf(account, {
    instances: [fromPublicId('instance', (await startInstance('other'))[0])!],
  });
  for (const other of [foreign, restricted])
    expect((await other.call('GET', `/v1/conversations/${shown.id}`)).status).toBe(404);
});

test('a conversation begins with a sent message too, and an opt-out is shown', async () => {
  await send('5531944440000');
  await client.call('POST', '/v1/opt-outs', { body: { phone: '5531944440000' } });
  expect((await list()).data).toMatchObject([
    { contact: { id: '5531944440000@s.whatsapp.net' }, unread_count: 0, opted_out: true },
  ]);
  expect((await people()).data).toMatchObject([{ phone: '5531944440000', opted_out: true }]);
});

test('counts messages received since the last read mark', async () => {
  const [first, second, third] = [fromAna(), fromAna(), fromAna()];
  await receive(engine, first);
  await receive(engine, second, third);
  await receive(engine, third, fromAna({ from_me: true }));
  expect(await find(ANA)).toMatchObject({ unread_count: 3 });
  engine.handlers.read = () => null;
  const mark = ({ wa_message_id: id }: InboundMessage) =>
    client.call('POST', `/v1/instances/${shop}/chats/${ANA}/read`, { body: { wa_message_ids: [id] } });
  expect((await mark(second)).status).toBe(204);
  expect(await find(ANA)).toMatchObject({ unread_count: 1 });
  await mark(first);
  expect(await find(ANA)).toMatchObject({ unread_count: 1 });
  await mark(third);
  expect(await find(ANA)).toMatchObject({ unread_count: 0 });
  await receive(engine, fromAna());
  expect(await find(ANA)).toMatchObject({ unread_count: 1 });
});

test('shows the subject that an event or a list of groups has reported', async () => {
  await receive(engine, inGroup());
  const about = { kind: 'group' as const, id: newUuid(), at: new Date().toISOString(), chat: GROUP };
  await engine.call('notices', { notices: [{ ...about, from: null, from_me: false, subject: 'Família' }] });
  expect(await find(GROUP)).toMatchObject({ group: { subject: 'Família' } });
  expect((await list({ search: 'famil' })).data).toHaveLength(1);
  const group = { jid: GROUP, subject: 'Trabalho', announcement: false, is_community: false, parent: null };
  engine.handlers.groups = () => ({ items: [{ ...group, size: 2, role: 'member' }], next: null });
  await client.call('GET', `/v1/instances/${shop}/groups`);
  expect(await find(GROUP)).toMatchObject({ group: { subject: 'Trabalho' } });
});

test('pages continue after a conversation while others become active', async () => {
  const chats = Array.from({ length: 5 }, (_, n) => `55219222200${n}0@s.whatsapp.net`);
  for (const chat of chats) await receive(engine, seen(chat));
  const first = await list({ limit: '2' });
  await receive(engine, seen(chats[0]!));
  const rest = await list({ limit: '4', cursor: first.next_cursor! });
  const ids = [...first.data, ...rest.data].map(({ contact }) => contact!.id);
  expect(ids).toEqual([chats[4], chats[3], chats[2], chats[1]]);
  expect(rest.next_cursor).toBeNull();
});

describe('searches', () => {
  test.each<[string, string, string[]]>([
    ['a part of the name', 'ceic', [ANA]],
    ['a name without its accents, in other letters', 'CONCEICAO', [ANA]],
    ['a name with its accents', 'conceição', [ANA]],
    ['a part of the phone number', '8765', [ANA]],
    ['a phone number as people write it', '+55 (11) 98765-4321', [ANA]],
    ['a phone number without the ninth digit', '551187654321', [ANA]],
    ['a phone number that no LID is known for', '92222', [BOB]],
    ['a part of the username', '@EVA.na', [EVA]],
    ['a wildcard as it is', '100%', [EVA]],
    ['a wildcard that nobody has', '_', []],
    ['many wildcards', '%'.repeat(100), []],
    ['a backslash', '\\', []],
    ['two digits, which are in no name', '55', []],
    ['the digits of a LID', '10123456', []],
  ])('%s', async (_name, search, expected) => {
    await receive(engine, seen(BOB), fromEva(), fromAna());
    expect((await list({ search })).data.map(({ contact }) => contact!.id)).toEqual(expected);
    expect((await people({ search })).data.map(({ id }) => id)).toEqual(expected);
  });

  test('a common name fills pages in the order of activity', async () => {
    const before = Array.from({ length: 1_100 }, (_, n) =>
      seen(`5521${900_000_000 + n}@s.whatsapp.net`, { from_name: n % 2 ? 'Common Ana' : 'Other' }),
    );
    for (let n = 0; n < before.length; n += 100) await receive(engine, ...before.slice(n, n + 100));
    const { data } = await list({ search: 'common', limit: '3' });
    expect(data.map(({ contact }) => contact!.id)).toEqual(
      [1_099, 1_097, 1_095].map((n) => `5521${900_000_000 + n}@s.whatsapp.net`),
    );
    // More names than are looked up first.
    expect((await list({ search: '5521', limit: '200' })).data).toHaveLength(200);
  });
});

test('a person of several instances is one contact, with first and last contact', async () => {
  const [, other] = await startInstance('other');
  await receive(engine, fromAna());
  await receive(engine, seen(BOB));
  await receive(other, fromAna());
  expect((await list()).data).toHaveLength(3);
  const { data } = await people();
  expect(data.map(({ id }) => id)).toEqual([ANA, BOB]);
  const [first, last] = [data[0]!.first_contact_at, data[0]!.last_contact_at].map(Date.parse);
  expect(last! - first!).toBeGreaterThanOrEqual(0);
  expect((await people({ instance_id: shop })).data.map(({ id }) => id)).toEqual([BOB, ANA]);
});

describe('a restricted key', () => {
  let other: string;
  let restricted: ApiClient;
  beforeEach(async () => {
    let otherEngine: FakeEngine;
    [other, otherEngine] = await startInstance('other');
    await receive(engine, seen(EVA, { from_name: 'Eva', username: 'eva.old' }), seen(BOB));
    const known = { alt: '5531955550000@s.whatsapp.net', username: 'eva.new' };
    await receive(otherEngine, seen(EVA, { from_name: 'Eva', ...known }));
    restricted = await api.clientOf(account, { instances: [fromPublicId('instance', shop)!] });
  });

  test('sees its instances, and of people what these know', async () => {
    const eva = { id: EVA, phone: null, username: 'eva.old', name: 'Eva' };
    const { data } = await list({}, restricted);
    expect(data.map(({ instance_id: id }) => id)).toEqual([shop, shop]);
    expect(data.map(({ contact }) => contact)).toContainEqual(eva);
    expect((await people({}, restricted)).data).toContainEqual(expect.objectContaining(eva));
    for (const search of ['eva.new', '5555', '5531955550000']) {
      expect((await list({ search }, restricted)).data).toEqual([]);
      expect((await people({ search }, restricted)).data).toEqual([]);
      expect((await list({ search })).data).toMatchObject([{ instance_id: other }]);
    }
  });

  test.each(['/v1/conversations', '/v1/contacts'])('%s refuses another instance', async (path) => {
    const answer = await restricted.call('GET', path, { query: { instance_id: other } });
    expect(answer.status).toBe(404);
  });

  test.each(['/v1/messages', '/v1/events'])('%s refuses a conversation of another', async (path) => {
    const hidden = (await list({ instance_id: other })).data[0]!.id;
    const strangers = await api.clientOf(await api.account());
    for (const by of [restricted, strangers])
      expect((await by.call('GET', path, { query: { conversation: hidden } })).status).toBe(404);
    expect((await client.call('GET', path, { query: { conversation: hidden } })).status).toBe(200);
  });
});

test('messages and events of a conversation', async () => {
  await receive(engine, fromAna(), seen(BOB));
  const { id } = await send('5511987654321');
  await client.call('DELETE', `/v1/messages/${id}`);
  const { id: conversation, last_message } = await find(ANA);
  const query = { conversation };
  const messages = await client.call<Page<MessageOut>>('GET', '/v1/messages', { query });
  expect(messages.body.data.map((message) => message.id)).toHaveLength(2);
  expect(messages.body.data[0]!.id).toBe(last_message!.id);
  const elsewhere: Record<string, string>[] = [
    { to: BOB },
    { instance_id: (await startInstance('third'))[0] },
  ];
  for (const more of elsewhere)
    expect(
      (await client.call<Page<MessageOut>>('GET', '/v1/messages', { query: { ...query, ...more } })).body
        .data,
    ).toEqual([]);
  const events = await client.call<Page<EventOut>>('GET', '/v1/events', { query });
  expect(events.body.data.map(({ type }) => type)).toContain('message.received');
  for (const { data } of events.body.data) expect(data).toMatchObject({ chat: { id: ANA } });
  const received = { ...query, type: 'message.received' };
  expect(
    (await client.call<Page<EventOut>>('GET', '/v1/events', { query: received })).body.data,
  ).toHaveLength(1);
  const forward = await client.call('GET', '/v1/events', { query: { ...query, after: 'oldest' } });
  expect(forward.status).toBe(422);
});

test('people whose names are linked have one conversation with all that it had', async () => {
  const { id } = await send('5511987654321');
  await receive(engine, seen(ANA));
  await receive(engine, seen(ANA));
  expect((await list()).data).toHaveLength(2);
  await receive(engine, fromAna());
  const { data } = await list();
  expect(data).toMatchObject([{ contact: { id: ANA, phone: '5511987654321' }, unread_count: 3 }]);
  const query = { conversation: data[0]!.id };
  const events = await client.call<Page<EventOut>>('GET', '/v1/events', {
    query: { ...query, type: 'message.received' },
  });
  expect(events.body.data).toHaveLength(3);
  const messages = await client.call<Page<MessageOut>>('GET', '/v1/messages', { query });
  expect(messages.body.data.map((message) => message.id)).toContain(id);
});
