import { linkNames } from '../contacts/contacts.js';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { messagesOnUnknownDays } from '@gwk/test/support/servers/days';
import {
  sharedInternalApi,
  readRefusal,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { openEventData } from '../events/emit.js';

let internalApi: InternalApiWorld;
let engine: TestEngine;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
beforeEach(async () => {
  engine = await (await internalApi.addEngine()).acquire();
});
afterAll(() => internalApi.close());

let people = 0;
const someone = () => `55118${String(10_000_000 + people++)}`;
const jid = (phone: string) => `${phone}@s.whatsapp.net`;
const message = (phone: string, given: Partial<InboundMessage> = {}): InboundMessage => ({
  wa_message_id: newUuid(),
  chat: jid(phone),
  from: jid(phone),
  from_name: 'Ana',
  from_me: false,
  at: new Date(Date.now() - 5_000).toISOString(),
  type: 'text',
  text: 'bom dia',
  quoted_wa_message_id: null,
  ...given,
});
const receive = (messages: InboundMessage[], by = engine) => by.call('inbound', { messages });
const rows = (by = engine) =>
  internalApi.world.database.message.findMany({
    where: { instanceId: by.instanceId, direction: 'inbound' },
    orderBy: { id: 'asc' },
  });
const events = async (by = engine) => {
  const where = { instanceId: by.instanceId };
  const found = await internalApi.world.database.event.findMany({ where, orderBy: { id: 'asc' } });
  return found.map((row) => ({
    type: row.type,
    data: openEventData(internalApi.world.sealer, row.accountId, row.dataSealed),
  }));
};
const findContact = (name: string) =>
  internalApi.world.database.contactName.findFirst({
    where: { accountId: internalApi.world.accountId, name },
    include: { contact: true },
  });

test('a message creates its contact, conversation, row and event', async () => {
  const phone = someone();
  const given = message(phone, { quoted_wa_message_id: '3EB0' });
  await receive([given]);
  const [row] = await rows();
  expect(row).toMatchObject({
    direction: 'inbound',
    status: 'delivered',
    to: phone,
    type: 'text',
    waMessageId: given.wa_message_id,
    participant: null,
  });
  expect(row!.sentAt!.toISOString()).toBe(given.at);
  expect(await findContact(phone)).toMatchObject({ contact: { name: 'Ana' } });
  const conversation = await internalApi.world.database.conversation.findUniqueOrThrow({
    where: { id: row!.conversationId },
  });
  expect(conversation.lastWroteAt!.toISOString()).toBe(given.at);
  expect(await events()).toEqual([
    {
      type: 'message.received',
      data: {
        instance_id: `ins_${engine.instanceId.replaceAll('-', '')}`,
        message_id: `msg_${row!.id.replaceAll('-', '')}`,
        wa_message_id: given.wa_message_id,
        chat: { id: jid(phone), is_group: false, phone, username: null },
        from: { id: jid(phone), phone, username: null, name: 'Ana' },
        from_me: false,
        timestamp: given.at,
        type: 'text',
        text: 'bom dia',
        quoted_wa_message_id: '3EB0',
      },
    },
  ]);
});

test('a redelivered message is stored once, concurrently or later', async () => {
  const given = message(someone());
  await Promise.all(Array.from({ length: 10 }, () => receive([given, given])));
  await receive([given]);
  expect(await rows()).toHaveLength(1);
  expect(await events()).toHaveLength(1);
});

test('the same network id from another chat or another group member is another message', async () => {
  const id = '3EB0SAME';
  const group = '120363000000000001@g.us';
  const [one, two] = [someone(), someone()];
  const inGroup = (from: string) => message(from, { wa_message_id: id, chat: group });
  await receive([
    message(one, { wa_message_id: id }),
    message(two, { wa_message_id: id }),
    inGroup(one),
    inGroup(two),
  ]);
  await receive([inGroup(one)]);
  const found = await rows();
  expect(found.map(({ to, participant }) => [to, participant])).toEqual([
    [one, null],
    [two, null],
    [group, jid(one)],
    [group, jid(two)],
  ]);
});

test('a group has a conversation without a contact, and its events have the phone of the author', async () => {
  const phone = someone();
  const group = '120363000000000002@g.us';
  await receive([message(phone, { chat: group, from: `${phone}:7@s.whatsapp.net` })]);
  const [event] = await events();
  expect(event!.data).toMatchObject({
    chat: { id: group, is_group: true },
    from: { id: jid(phone), phone, username: null, name: 'Ana' },
  });
  expect(event!.data['chat']).not.toHaveProperty('phone');
  expect(await findContact(phone)).toBeNull();
});

test('a LID has no phone until this instance knows one', async () => {
  const lid = `${10_000_000_000 + Math.floor(Math.random() * 1e9)}@lid`;
  const phone = someone();
  await receive([message('', { chat: lid, from: lid })]);
  const { accountId } = internalApi.world;
  const link = (instanceId: string) =>
    linkNames(
      { database: internalApi.world.database, sealer: internalApi.world.sealer },
      { accountId, instanceId, lid, phone },
    );
  await link((await (await internalApi.addEngine()).acquire()).instanceId);
  await receive([message('', { chat: lid, from: lid })]);
  expect((await events()).at(-1)!.data['chat']).toEqual({ id: lid, is_group: false, username: null });
  await link(engine.instanceId);
  await receive([message('', { chat: lid, from: lid })]);
  const seen = await events();
  expect(seen.map(({ type }) => type)).toEqual([
    'message.received',
    'message.received',
    'contact.updated',
    'message.received',
  ]);
  const [before, after] = [seen[0], seen.at(-1)];
  expect(before!.data['chat']).toEqual({ id: lid, is_group: false, username: null });
  expect(after!.data['chat']).toEqual({ id: lid, is_group: false, phone, username: null });
  expect(after!.data['from']).toMatchObject({ id: lid, phone });
  expect((await rows()).map(({ to }) => to)).toEqual([lid, lid, phone]);
});

test('all forms of a phone number share one conversation, also with sent messages', async () => {
  const digits = String(90_000_000 + people++).slice(-8);
  const [withNinth, without] = [`55119${digits}`, `5511${digits}`];
  const sent = await internalApi.accept({ instance: engine.instanceId, to: withNinth });
  await receive([message(without)]);
  const [row] = await rows();
  const outbound = await internalApi.world.database.message.findUniqueOrThrow({ where: { id: sent } });
  expect(row!.conversationId).toBe(outbound.conversationId);
});

describe('a message written on the phone', () => {
  const fromPhone = (chat: string, given: Partial<InboundMessage> = {}) =>
    message(chat, { from_me: true, from: '5511900000000@s.whatsapp.net', ...given });
  /** The oldest own message; the others quote it. */
  const findRow = () =>
    internalApi.world.database.message.findFirstOrThrow({
      where: { instanceId: engine.instanceId, direction: 'outbound' },
      orderBy: { id: 'asc' },
    });

  test('is an own message that has left, and does not count as written by the contact', async () => {
    const phone = someone();
    const given = fromPhone(phone);
    await receive([given, given]);
    expect(await rows()).toEqual([]);
    const row = await findRow();
    expect(row).toMatchObject({ type: 'text', status: 'sent', participant: null, deliveredAt: null });
    const [event, ...more] = await events();
    expect(more).toEqual([]);
    expect(event!.type).toBe('message.sent_from_device');
    const message_id = toPublicId('message', row.id);
    expect(event!.data).toMatchObject({ message_id, from_me: true, chat: { id: jid(phone), phone } });
    const { contact } = (await findContact(phone))!;
    expect(contact.name).toBeNull();
    const conversation = await internalApi.world.database.conversation.findFirstOrThrow({
      where: { contactId: contact.id, instanceId: engine.instanceId },
    });
    expect(conversation).toMatchObject({ lastWroteAt: null, firstSentAt: null });
  });

  test.each([
    ['a contact', () => someone()],
    ['a group', () => '120363012345678901@g.us'],
  ])('to %s is quoted, edited, read and deleted as the own message', async (_, place) => {
    const to = place();
    const chat = to.includes('@') ? to : jid(to);
    const given = fromPhone(to, { chat, text: 'Bom dia', card: 'AQID' });
    await receive([given]);
    const row = await findRow();
    const quote = async () => {
      const reply_to = toPublicId('message', row.id);
      const id = await internalApi.accept({ instance: engine.instanceId, to, extra: { reply_to } });
      const [claimed] = await engine.claim();
      await engine.sent(id);
      return claimed!.quoted;
    };
    const reference = { wa_message_id: given.wa_message_id, chat, from_me: true, participant: null };
    expect(await quote()).toEqual({ ...reference, type: 'text', text: 'Bom dia', card: 'AQID' });
    const change = (one: InboundMessage['change']) => fromPhone(to, { chat, change: one, text: null });
    const { wa_message_id } = given;
    await receive([change({ kind: 'edit', wa_message_id, text: 'Boa noite' })]);
    expect(await quote()).toMatchObject({ text: 'Boa noite' });
    await engine.report({ kind: 'receipt', wa_message_id, status: 'read', at: new Date().toISOString() });
    expect(await findRow()).toMatchObject({ status: 'read' });
    await receive([change({ kind: 'delete', wa_message_id })]);
    expect(await findRow()).toMatchObject({ deletedForAll: true });
    const message_id = toPublicId('message', row.id);
    const told = (await events()).filter(({ data }) => data['message_id'] === message_id);
    expect(told.map(({ type }) => type)).toEqual([
      ...['message.sent_from_device', 'message.edited', 'message.status_updated', 'message.deleted'],
    ]);
  });
});

test.each(['867051314767696@bot', '1-2001@interop', '77@future', '0@s.whatsapp.net'])(
  'a message of %s is reported in a chat of its own',
  async (place) => {
    const given = message('', { chat: place, from: place, from_name: 'X', kind: 'unknown', type: 'other' });
    await receive([given]);
    const [row] = await rows();
    const event = (await events()).at(-1);
    expect(event).toMatchObject({
      type: 'message.received',
      data: {
        message_id: `msg_${row!.id.replaceAll('-', '')}`,
        wa_message_id: given.wa_message_id,
        chat: { id: place, is_group: false },
        from: { id: place, name: 'X' },
        ...{ from_me: false, type: 'other', kind: 'unknown' },
      },
    });
  },
);

test('accepts and drops messages outside conversations', async () => {
  await receive([message('', { chat: 'status@broadcast' }), message('', { chat: '123@newsletter' })]);
  expect(await rows()).toEqual([]);
});

test('stores text with characters that Postgres cannot store', async () => {
  await receive([message(someone(), { from_name: 'A\u0000na \ud800', text: 'nul \u0000 and half \ud800' })]);
  expect(await rows()).toHaveLength(1);
});

test('the newest message sets the name of the contact and its time', async () => {
  const phone = someone();
  const at = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
  await receive([
    message(phone, { at: at(10), from_name: 'Ana Maria' }),
    message(phone, { at: at(20), from_name: 'Ana' }),
  ]);
  const { contact } = (await findContact(phone))!;
  expect(contact.name).toBe('Ana Maria');
});

test('strangers who write to many instances at once become one contact each', async () => {
  const engines = await Promise.all(
    Array.from({ length: 6 }, async () => (await internalApi.addEngine()).acquire()),
  );
  const phones = Array.from({ length: 15 }, someone);
  const shuffled = () => [...phones].sort(() => Math.random() - 0.5);
  const sends = phones.map((to) => internalApi.accept({ instance: engines[0]!.instanceId, to }));
  await Promise.all(
    engines.map((one) =>
      receive(
        shuffled().map((phone) => message(phone)),
        one,
      ),
    ),
  );
  await Promise.all(sends);
  for (const phone of phones) {
    expect(
      await internalApi.world.database.contactName.count({
        where: { accountId: internalApi.world.accountId, name: phone },
      }),
    ).toBe(1);
  }
  const contacts = await internalApi.world.database.contact.count({
    where: { accountId: internalApi.world.accountId, names: { none: {} } },
  });
  expect(contacts).toBe(0);
  for (const one of engines) expect(await rows(one)).toHaveLength(phones.length);
});

test('a fenced engine affects no other in its batch', async () => {
  const other = await (await internalApi.addEngine()).acquire();
  engine.lease = { ...engine.lease, holder: newUuid() };
  const [fenced, accepted] = await Promise.all([
    readRefusal(receive([message(someone())])),
    readRefusal(receive([message(someone())], other)),
  ]);
  expect([fenced, accepted]).toEqual(['fenced', 'answered']);
  expect(await rows()).toEqual([]);
  expect(await rows(other)).toHaveLength(1);
});

test('each conversation records the days of all its messages', async () => {
  expect(await messagesOnUnknownDays(internalApi.world.database)).toEqual([]);
});
