import { lowestUuidAt, parseUuidTime } from '@gwk/core/ids';
import type { InboundMessage } from '@gwk/core/protocol/engine';
import { messagesOnUnknownDays } from '@gwk/test/support/servers/days';
import type { TestEngine } from '@gwk/test/support/api/internal-api';
import { InboundStage, jid } from '@gwk/test/support/api/inbound';
import { linkNames } from './contacts.js';

/** A contact is one row with all its names: what was known under two is one once they are found to be the same. */
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
const hear = (from: string, text = 'oi', given: Partial<InboundMessage> = {}) =>
  receive(stage.text(from, text, given));
const accept = (to: string, by = engine) => stage.port.accept({ instance: by.instanceId, to });
const deps = () => ({ database: stage.database, sealer: stage.port.world.sealer });
const link = (a = phone, b = lid) => linkNames(deps(), stage.port.world.accountId, [a, b]);
const contactOf = async (name: string) =>
  (await stage.database.contactName.findFirst({ where: { accountId: stage.port.world.accountId, name } }))
    ?.contactId;
const conversations = (by = engine) =>
  stage.database.conversation.findMany({ where: { instanceId: by.instanceId } });
const queue = (by = engine) =>
  stage.database.outboxEntry.findMany({ where: { instanceId: by.instanceId }, orderBy: { seq: 'asc' } });

test('a message that tells both names makes one contact of two, with one conversation', async () => {
  await hear(phone);
  await hear(lid);
  expect(await contactOf(phone)).not.toBe(await contactOf(lid));
  const rows = await stage.inbound(engine);

  await hear(lid, 'sou eu', { alt: jid(phone) });
  expect(await contactOf(phone)).toBe(await contactOf(lid));
  const [conversation, ...rest] = await conversations();
  expect(rest).toEqual([]);
  expect(conversation!.contactId).toBe(await contactOf(phone));
  for (const { id } of await stage.inbound(engine)) {
    expect((await stage.message(id)).conversationId).toBe(conversation!.id);
  }
  expect(await stage.inbound(engine)).toHaveLength(rows.length + 1);
  const { data } = await stage.lastEvent(engine);
  expect(data).toMatchObject({ chat: { id: lid, phone }, from: { id: lid, phone } });
});

test('names of which one or none is known become those of one contact', async () => {
  await hear(lid, 'oi', { alt: jid(phone) });
  expect(await contactOf(phone)).toBe(await contactOf(lid));
  const other = stage.someone();
  const otherLid = stage.someLid();
  await hear(other);
  const known = await contactOf(other);
  await hear(otherLid, 'oi', { alt: jid(other) });
  expect([await contactOf(other), await contactOf(otherLid)]).toEqual([known, known]);
});

test('days of both are those of the merged conversation', async () => {
  await hear(phone);
  await hear(lid);
  const [old] = await stage.database.message.findMany({ where: { to: lid } });
  const [young] = await stage.database.message.findMany({ where: { to: phone } });
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

test('a redelivered message is known in the merged conversation', async () => {
  const old = stage.text(lid, 'oi');
  await receive(old);
  await hear(phone);
  await link();
  await receive(old);
  expect(await stage.inbound(engine)).toHaveLength(2);
});

test('opted out if either was: what waits under the other name fails in the same transaction', async () => {
  await hear(lid, 'SAIR');
  const waiting = await accept(phone);
  await hear(lid, 'oi', { alt: jid(phone) });
  expect(await stage.message(waiting)).toMatchObject({ status: 'failed', errorCode: 'opted_out' });
  await expect(accept(phone)).rejects.toMatchObject({ code: 'contact-opted-out' });
  const [optOut, ...rest] = await stage.database.optOut.findMany({
    where: { contactId: (await contactOf(phone))! },
  });
  expect(rest).toEqual([]);
  // Known by its phone from here on.
  expect(optOut).toMatchObject({ phone, source: 'keyword', keyword: 'SAIR' });
  expect(await stage.events(engine, 'message.failed')).toHaveLength(1);
});

test('both opted out: one opt-out is left, and one VOLTAR frees', async () => {
  await hear(lid, 'SAIR');
  await hear(phone, 'PARAR');
  await link();
  expect(await stage.database.optOut.count({ where: { contactId: (await contactOf(phone))! } })).toBe(1);
  await hear(lid, 'VOLTAR');
  await accept(phone);
});

test('what waits stands in one line by acceptance, behind what is on its way', async () => {
  const ids: string[] = [];
  for (const to of [lid, phone, phone, lid, phone, lid]) ids.push(await accept(to));
  await link();
  const entries = await queue();
  expect(entries.map(({ messageId }) => messageId)).toEqual(ids);
  expect(entries.map(({ head }) => head)).toEqual([true, false, false, false, false, false]);
  const seen: string[] = [];
  for (let i = 0; i < ids.length; i++) {
    const claimed = await engine.claim();
    expect(claimed).toHaveLength(1);
    expect(claimed[0]!.chat).toBe(jid(phone));
    seen.push(claimed[0]!.message_id);
    await engine.sent(claimed[0]!.message_id);
  }
  expect(seen).toEqual(ids);
  // The next one goes behind all.
  const last = await accept(lid);
  expect((await engine.claim()).map(({ message_id }) => message_id)).toEqual([last]);
});

test.each(['in their order', 'the other way round'])(
  'two heads that are both on their way finish %s, then the line goes on',
  async (order) => {
    const [a1, b1, a2, b2] = [await accept(lid), await accept(phone), await accept(lid), await accept(phone)];
    expect((await engine.claim()).map(({ message_id }) => message_id).sort()).toEqual([a1, b1].sort());
    await link();
    expect(await engine.claim()).toEqual([]);
    const [first, second] = order === 'in their order' ? [a1, b1] : [b1, a1];
    await engine.sent(first);
    await engine.sent(second);
    const seen: string[] = [];
    for (let i = 0; i < 2; i++) {
      const [claimed] = await engine.claim();
      seen.push(claimed!.message_id);
      await engine.sent(claimed!.message_id);
    }
    expect(seen).toEqual([a2, b2]);
    expect(await queue()).toEqual([]);
  },
);

test('two heads that are given back, or lost with their engine, are granted again one by one', async () => {
  const [a1, b1] = [await accept(lid), await accept(phone)];
  await engine.claim();
  await link();
  await engine.report({ kind: 'returned', message_id: b1 }, { kind: 'returned', message_id: a1 });
  const next = await stage.port.addPod(engine.instanceId, 'pod-2');
  await engine.call('release', {});
  await next.acquire();
  const seen: string[] = [];
  for (let i = 0; i < 2; i++) {
    const claimed = await next.claim();
    expect(claimed).toHaveLength(1);
    seen.push(claimed[0]!.message_id);
    await next.sent(claimed[0]!.message_id);
  }
  expect(seen).toEqual([a1, b1]);
});

test('a newer engine is granted both of what an older one had under way', async () => {
  const [a1, b1] = [await accept(lid), await accept(phone)];
  await engine.claim();
  await engine.build(a1, b1);
  await link();
  await engine.call('release', {});
  const next = await (await stage.port.addPod(engine.instanceId, 'pod-2')).acquire();
  const seen: string[] = [];
  for (let i = 0; i < 2; i++) {
    const claimed = await next.claim();
    expect(claimed).toHaveLength(1);
    seen.push(claimed[0]!.message_id);
    await next.sent(claimed[0]!.message_id);
  }
  expect(seen.sort()).toEqual([a1, b1].sort());
});

test('scheduled messages, menus and the 24 hours move along', async () => {
  const menu = await stage.menu(engine, phone);
  const scheduled = await accept(lid);
  await stage.database.outboxEntry.update({
    where: { messageId: scheduled },
    data: { state: 'scheduled', seq: null, head: false, releaseAt: new Date(Date.now() + 60_000) },
  });
  await hear(lid);
  await link();
  const [conversation] = await conversations();
  expect(conversation!.lastWroteAt).not.toBeNull();
  expect(conversation!.firstSentAt).not.toBeNull();
  const [entry] = await queue();
  expect(entry).toMatchObject({ messageId: scheduled, conversationId: conversation!.id, state: 'scheduled' });
  await hear(lid, '2');
  const { type, data } = await stage.lastEvent(engine);
  expect(type).toBe('message.interactive_reply');
  expect(data['reply']).toMatchObject({ option_id: 'no', in_reply_to: menu.publicId });
});

test('conversations with other numbers of the account come along whole', async () => {
  const other = await stage.engine();
  await hear(lid);
  await stage.receive(other, stage.text(phone, 'oi'));
  await link();
  const contact = await contactOf(phone);
  expect((await conversations()).map(({ contactId }) => contactId)).toEqual([contact]);
  expect((await conversations(other)).map(({ contactId }) => contactId)).toEqual([contact]);
  const waiting = await accept(lid, other);
  expect((await other.claim()).map(({ message_id, chat }) => [message_id, chat])).toEqual([
    [waiting, jid(phone)],
  ]);
});

test('a member of a group is linked where one of the names is a contact, and shown by phone in any case', async () => {
  const group = '120363000000000066@g.us';
  await hear(lid, 'oi', { chat: group, alt: jid(phone) });
  expect((await stage.lastEvent(engine)).data['from']).toMatchObject({ id: lid, phone });
  expect([await contactOf(lid), await contactOf(phone)]).toEqual([undefined, undefined]);
  await hear(phone);
  await hear(lid, 'oi', { chat: group, alt: jid(phone) });
  expect(await contactOf(lid)).toBe(await contactOf(phone));
});

test('linking, accepting, hearing and opting out at once leave one contact and a whole line', async () => {
  for (let round = 0; round < 5; round++) {
    const [a, b] = [stage.someone(), stage.someLid()];
    const number = await stage.engine();
    await accept(a, number);
    await accept(b, number);
    await Promise.all([
      ...Array.from({ length: 20 }, (_, i) => accept(i % 2 ? a : b, number)),
      ...Array.from({ length: 10 }, (_, i) => stage.receive(number, stage.text(i % 2 ? a : b, `oi ${i}`))),
      link(a, b),
      link(b, a),
      stage.receive(number, stage.text(b, 'e eu', { alt: jid(a) })),
    ]);
    expect(await contactOf(a)).toBe(await contactOf(b));
    const entries = await queue(number);
    expect(entries).toHaveLength(22);
    expect(new Set(entries.map(({ conversationId }) => conversationId)).size).toBe(1);
    expect(new Set(entries.map(({ seq }) => seq)).size).toBe(22);
    expect(entries.map(({ head }) => head)).toEqual([true, ...Array.from({ length: 21 }, () => false)]);
    expect(await stage.inbound(number)).toHaveLength(11);
    await stage.receive(number, stage.text(a, 'SAIR'));
    expect(await queue(number)).toEqual([]);
  }
});

test('each conversation knows the days of its messages, whatever happened above', async () => {
  expect(await messagesOnUnknownDays(stage.database)).toEqual([]);
});
