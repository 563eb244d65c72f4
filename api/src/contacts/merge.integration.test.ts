import { lowestUuidAt, parseUuidTime } from '@gwk/core/ids/ids';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { messagesOnUnknownDays } from '@gwk/test/support/servers/days';
import type { TestEngine } from '@gwk/test/support/api/internal-api';
import { InboundStage, jid } from '@gwk/test/support/api/inbound';
import { linkNames } from './contacts.js';

/**
 * A contact is one row with all its names. Two contacts become one once they are found to be the same person.
 */
const DAY = 86_400_000;

let stage: InboundStage;
let engine: TestEngine;
let phone: string;
let lid: string;
beforeAll(async () => {
  stage = await InboundStage.open();
});
beforeEach(async () => {
  engine = await stage.engine();
  phone = stage.someone();
  lid = stage.someLid();
});
afterAll(() => stage.close());

const receive = (...messages: InboundMessage[]) => stage.receive(engine, ...messages);
const receiveText = (from: string, text = 'oi', given: Partial<InboundMessage> = {}) =>
  receive(stage.text(from, text, given));
const accept = (to: string, by = engine) => stage.internalApi.accept({ instance: by.instanceId, to });
const deps = () => ({ database: stage.database, sealer: stage.internalApi.world.sealer });
const link = (given = { lid, phone }, { instanceId } = engine) =>
  linkNames(deps(), { accountId: stage.internalApi.world.accountId, instanceId, ...given });
const findContactId = async (name: string) =>
  (
    await stage.database.contactName.findFirst({
      where: { accountId: stage.internalApi.world.accountId, name },
    })
  )?.contactId;
const conversations = (by = engine) =>
  stage.database.conversation.findMany({ where: { instanceId: by.instanceId } });
const queue = (by = engine) =>
  stage.database.outboxEntry.findMany({ where: { instanceId: by.instanceId }, orderBy: { seq: 'asc' } });

test('a message with both names merges two contacts and their conversations', async () => {
  await receiveText(phone);
  await receiveText(lid);
  expect(await findContactId(phone)).not.toBe(await findContactId(lid));
  const rows = await stage.inbound(engine);

  await receiveText(lid, 'sou eu', { alt: jid(phone) });
  expect(await findContactId(phone)).toBe(await findContactId(lid));
  const [conversation, ...rest] = await conversations();
  expect(rest).toEqual([]);
  expect(conversation!.contactId).toBe(await findContactId(phone));
  for (const { id } of await stage.inbound(engine)) {
    expect((await stage.message(id)).conversationId).toBe(conversation!.id);
  }
  expect(await stage.inbound(engine)).toHaveLength(rows.length + 1);
  const { data } = await stage.lastEvent(engine, 'message.received');
  expect(data).toMatchObject({ chat: { id: lid, phone }, from: { id: lid, phone } });
});

test('links two names where one or none is known', async () => {
  await receiveText(lid, 'oi', { alt: jid(phone) });
  expect(await findContactId(phone)).toBe(await findContactId(lid));
  const other = stage.someone();
  const otherLid = stage.someLid();
  await receiveText(other);
  const known = await findContactId(other);
  await receiveText(otherLid, 'oi', { alt: jid(other) });
  expect([await findContactId(other), await findContactId(otherLid)]).toEqual([known, known]);
});

test('the merged conversation has the days of both', async () => {
  await receiveText(phone);
  await receiveText(lid);
  // Other files of this process use the same database and numbers.
  const { instanceId } = engine;
  const [old] = await stage.database.message.findMany({ where: { instanceId, to: lid } });
  const [young] = await stage.database.message.findMany({ where: { instanceId, to: phone } });
  const then = lowestUuidAt(parseUuidTime(young!.id) - 3 * DAY).slice(0, 14) + old!.id.slice(14);
  await stage.database.$executeRaw`UPDATE messages SET id = ${then}::uuid WHERE id = ${old!.id}::uuid`;
  const today = Math.floor(parseUuidTime(young!.id) / DAY);
  await stage.database.conversation.update({
    where: { id: old!.conversationId },
    data: { days: [today - 3] },
  });
  await link();
  const [conversation] = await conversations();
  expect(conversation!.days).toEqual([today - 3, today]);
});

test('a redelivered message is recognized in the merged conversation', async () => {
  const old = stage.text(lid, 'oi');
  await receive(old);
  await receiveText(phone);
  await link();
  await receive(old);
  expect(await stage.inbound(engine)).toHaveLength(2);
});

test('an opt-out under one name fails messages queued under the other in the same transaction', async () => {
  await receiveText(lid, 'SAIR');
  const waiting = await accept(phone);
  await receiveText(lid, 'oi', { alt: jid(phone) });
  expect(await stage.message(waiting)).toMatchObject({ status: 'failed', errorCode: 'opted_out' });
  await expect(accept(phone)).rejects.toMatchObject({ code: 'contact-opted-out' });
  const [optOut, ...rest] = await stage.database.optOut.findMany({
    where: { contactId: (await findContactId(phone))! },
  });
  expect(rest).toEqual([]);
  // Known by its phone number from here on.
  expect(optOut).toMatchObject({ phone, source: 'keyword', keyword: 'SAIR' });
  expect(await stage.events(engine, 'message.failed')).toHaveLength(1);
});

test('two opt-outs merge into one, and one VOLTAR removes it', async () => {
  await receiveText(lid, 'SAIR');
  await receiveText(phone, 'PARAR');
  await link();
  expect(await stage.database.optOut.count({ where: { contactId: (await findContactId(phone))! } })).toBe(1);
  await receiveText(lid, 'VOLTAR');
  await accept(phone);
});

test('queued messages form one queue in order of acceptance, behind those being sent', async () => {
  const ids: string[] = [];
  for (const to of [lid, phone, phone, lid, phone, lid]) ids.push(await accept(to));
  await link();
  const entries = await queue();
  expect(entries.map(({ messageId }) => messageId)).toEqual(ids);
  expect(entries.map(({ head }) => head)).toEqual([true, false, false, false, false, false]);
  const claimed = await engine.claim();
  expect(claimed.map(({ message_id }) => message_id)).toEqual(ids);
  expect(new Set(claimed.map(({ chat }) => chat))).toEqual(new Set([jid(phone), lid]));
  for (const id of ids) await engine.sent(id);
  // The next message is queued last.
  const last = await accept(lid);
  expect((await engine.claim()).map(({ message_id }) => message_id)).toEqual([last]);
});

test('queued messages of one millisecond form one queue in order of acceptance', async () => {
  const ids: string[] = [];
  for (const to of [lid, phone, lid, phone]) ids.push(await accept(to));
  await stage.database.outboxEntry.updateMany({
    where: { instanceId: engine.instanceId },
    data: { createdAt: new Date() },
  });
  await link();
  expect((await queue()).map(({ messageId }) => messageId)).toEqual(ids);
});

test.each(['in their order', 'the other way round'])(
  'two heads being sent finish %s, then the queue continues',
  async (order) => {
    const [a1, b1, a2, b2] = [await accept(lid), await accept(phone), await accept(lid), await accept(phone)];
    expect((await engine.claim(2)).map(({ message_id }) => message_id).sort()).toEqual([a1, b1].sort());
    await link();
    expect(await engine.claim()).toEqual([]);
    const [first, second] = order === 'in their order' ? [a1, b1] : [b1, a1];
    await engine.sent(first);
    await engine.sent(second);
    expect((await engine.claim()).map(({ message_id }) => message_id)).toEqual([a2, b2]);
    for (const id of [a2, b2]) await engine.sent(id);
    expect(await queue()).toEqual([]);
  },
);

test('a message that was returned stays before a claimed one of its conversation', async () => {
  const [a1, b1, a2] = [await accept(lid), await accept(phone), await accept(lid)];
  await engine.claim();
  await engine.report({ kind: 'returned', message_id: a1 });
  await link();
  await engine.report({ kind: 'returned', message_id: a2 });
  await engine.sent(b1);
  expect((await engine.claim()).map(({ message_id }) => message_id)).toEqual([a1, a2]);
});

test('two heads that are returned, or lost with their engine, are claimed again in their order', async () => {
  const [a1, b1] = [await accept(lid), await accept(phone)];
  await engine.claim();
  await link();
  await engine.report({ kind: 'returned', message_id: b1 }, { kind: 'returned', message_id: a1 });
  const next = await stage.internalApi.addPod(engine.instanceId, 'pod-2');
  await engine.call('release', {});
  await next.acquire();
  expect((await next.claim()).map(({ message_id }) => message_id)).toEqual([a1, b1]);
});

test('a new engine claims both messages that the old one was sending', async () => {
  const [a1, b1] = [await accept(lid), await accept(phone)];
  await engine.claim();
  await engine.build(a1, b1);
  await link();
  await engine.call('release', {});
  const next = await (await stage.internalApi.addPod(engine.instanceId, 'pod-2')).acquire();
  const seen: string[] = [];
  for (let i = 0; i < 2; i++) {
    const claimed = await next.claim();
    expect(claimed).toHaveLength(1);
    seen.push(claimed[0]!.message_id);
    await next.sent(claimed[0]!.message_id);
  }
  expect(seen.sort()).toEqual([a1, b1].sort());
});

test('moves scheduled messages, menus and the time of the last message', async () => {
  const menu = await stage.menu(engine, phone);
  const scheduled = await accept(lid);
  await stage.database.outboxEntry.update({
    where: { messageId: scheduled },
    data: { state: 'scheduled', seq: null, head: false, releaseAt: new Date(Date.now() + 60_000) },
  });
  await receiveText(lid);
  await link();
  const [conversation] = await conversations();
  expect(conversation!.lastWroteAt).not.toBeNull();
  expect(conversation!.firstSentAt).not.toBeNull();
  const [entry] = await queue();
  expect(entry).toMatchObject({ messageId: scheduled, conversationId: conversation!.id, state: 'scheduled' });
  await receiveText(lid, '2');
  const { type, data } = await stage.lastEvent(engine);
  expect(type).toBe('message.interactive_reply');
  expect(data['reply']).toMatchObject({ option_id: 'no', in_reply_to: menu.publicId });
});

test('merges conversations with other instances of the account', async () => {
  const other = await stage.engine();
  await receiveText(lid);
  await stage.receive(other, stage.text(phone, 'oi'));
  await link();
  const contact = await findContactId(phone);
  expect((await conversations()).map(({ contactId }) => contactId)).toEqual([contact]);
  expect((await conversations(other)).map(({ contactId }) => contactId)).toEqual([contact]);
  const waiting = await accept(lid, other);
  expect((await other.claim()).map(({ message_id, chat }) => [message_id, chat])).toEqual([[waiting, lid]]);
});

test('links a group member where one name is a contact, and always shows the phone number', async () => {
  const group = '120363000000000066@g.us';
  await receiveText(lid, 'oi', { chat: group, alt: jid(phone) });
  expect((await stage.lastEvent(engine)).data['from']).toMatchObject({ id: lid, phone });
  expect([await findContactId(lid), await findContactId(phone)]).toEqual([undefined, undefined]);
  await receiveText(phone);
  await receiveText(lid, 'oi', { chat: group, alt: jid(phone) });
  expect(await findContactId(lid)).toBe(await findContactId(phone));
});

test('concurrent links, accepts, receives and opt-outs leave one contact and one complete queue', async () => {
  for (let round = 0; round < 5; round++) {
    const [a, b] = [stage.someone(), stage.someLid()];
    const instance = await stage.engine();
    await accept(a, instance);
    await accept(b, instance);
    await Promise.all([
      ...Array.from({ length: 20 }, (_, i) => accept(i % 2 ? a : b, instance)),
      ...Array.from({ length: 10 }, (_, i) => stage.receive(instance, stage.text(i % 2 ? a : b, `oi ${i}`))),
      link({ phone: a, lid: b }, instance),
      link({ phone: a, lid: b }, instance),
      stage.receive(instance, stage.text(b, 'e eu', { alt: jid(a) })),
    ]);
    expect(await findContactId(a)).toBe(await findContactId(b));
    const entries = await queue(instance);
    expect(entries).toHaveLength(22);
    expect(new Set(entries.map(({ conversationId }) => conversationId)).size).toBe(1);
    expect(new Set(entries.map(({ seq }) => seq)).size).toBe(22);
    expect(entries.map(({ head }) => head)).toEqual([true, ...Array.from({ length: 21 }, () => false)]);
    expect(await stage.inbound(instance)).toHaveLength(11);
    await stage.receive(instance, stage.text(a, 'SAIR'));
    expect(await queue(instance)).toEqual([]);
  }
});

test('each conversation records the days of all its messages', async () => {
  expect(await messagesOnUnknownDays(stage.database)).toEqual([]);
});
