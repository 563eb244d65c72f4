import { parseRecipient } from '@gwk/core/ids/recipients';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { readRefusal, type TestEngine } from '@gwk/test/support/api/internal-api';
import { InboundStage, jid } from '@gwk/test/support/api/inbound';
import { contactChanges } from './contact-changes.js';
import { changeContact, linkNames, lockContactNamed } from './contacts.js';
import { optOut } from './opt-outs.js';

/**
 * A contact has one LID and the phone numbers that were seen with it. Ids change whom a name means, never the
 * address of a message.
 */
let stage: InboundStage;
let engine: TestEngine;
let phone: string;
let [tom, rex]: [string, string] = ['', ''];
beforeAll(async () => {
  stage = await InboundStage.open();
});
beforeEach(async () => {
  engine = await stage.engine();
  phone = stage.someone();
  [tom, rex] = [stage.someLid(), stage.someLid()];
});
afterAll(() => stage.close());

const receive = (by: TestEngine, from: string, given: Partial<InboundMessage> = {}) =>
  stage.receive(by, stage.text(from, 'oi', given));
const accept = (to: string, by = engine) => stage.internalApi.accept({ instance: by.instanceId, to });
const chatsOfClaims = async (by = engine) => (await by.claim()).map(({ chat }) => chat);
const contactOf = async (name: string) =>
  (
    await stage.database.contactName.findFirst({
      where: { accountId: stage.internalApi.world.accountId, name },
    })
  )?.contactId;
const link = (lid: string, digits: string, { instanceId } = engine) =>
  linkNames(
    { database: stage.database, sealer: stage.internalApi.world.sealer },
    { accountId: stage.internalApi.world.accountId, instanceId, lid, phone: digits },
  );

describe('reports of a compromised engine', () => {
  test.each([
    ['two phone numbers', () => [phone, jid(stage.someone())]],
    ['two LIDs', () => [tom, rex]],
  ])('are refused when they link %s', async (_name, pick) => {
    const [from, alt] = pick() as [string, string];
    expect(await readRefusal(receive(engine, from, { alt }))).toBe('invalid');
    const group = '120363000000000077@g.us';
    expect(await readRefusal(receive(engine, from, { chat: group, alt }))).toBe('invalid');
    expect(await contactOf(from)).toBeUndefined();
  });

  test('are refused by the database too', async () => {
    await expect(link(phone, stage.someone())).rejects.toThrow('only a LID and a phone number');
    await expect(link(tom, rex)).rejects.toThrow('only a LID and a phone number');
  });

  test('do not redirect what another instance sends', async () => {
    const other = await stage.engine();
    await receive(other, tom, { alt: jid(phone) });
    await receive(engine, rex, { alt: jid(phone) });
    await accept(phone, other);
    await accept(tom, other);
    expect(await chatsOfClaims(other)).toEqual([jid(phone), tom]);
    expect(await contactOf(phone)).toBe(await contactOf(tom));
  });

  test('do not change the ids in events of another instance', async () => {
    const other = await stage.engine();
    await stage.sent(other, phone);
    await receive(engine, rex, { alt: jid(phone) });
    await stage.sent(other, phone);
    const chats = (await stage.events(other, 'message.sent')).map(({ data }) => data['chat']);
    expect(chats).toEqual(
      [jid(phone), jid(phone)].map((id) => ({ id, phone, is_group: false, username: null })),
    );
  });
});

describe('names that an engine reports before a send', () => {
  const names = (lid: string) => ({ lid, phone });

  test('are ignored if the call is late', async () => {
    await engine.repeat('names', names(rex), 2);
    await engine.repeat('names', names(tom), 1);
    expect(await contactOf(phone)).toBe(await contactOf(rex));
    expect(await contactOf(tom)).toBeUndefined();
    await engine.repeat('names', names(tom), 3);
    expect(await contactOf(phone)).toBe(await contactOf(tom));
  });

  test('are not linked by an engine that changes contacts without end', async () => {
    await engine.call('names', names(tom));
    await receive(engine, rex);
    for (let i = 0; i < 600; i++) contactChanges.count(engine.instanceId);
    await expect(engine.call('names', names(rex))).rejects.toThrow('the internal API answered 503');
    await receive(engine, rex, { alt: jid(phone) });
    expect(await contactOf(phone)).toBe(await contactOf(tom));
    const other = await stage.engine();
    const [lid, digits] = [stage.someLid(), stage.someone()];
    await other.call('names', { lid, phone: digits });
    expect(await contactOf(digits)).toBe(await contactOf(lid));
  });
});

describe('a phone number that passes to another person', () => {
  beforeEach(async () => {
    await receive(engine, tom, { alt: jid(phone) });
    await receive(engine, rex, { alt: jid(phone) });
  });

  test('belongs to the newest LID', async () => {
    expect(await contactOf(phone)).toBe(await contactOf(rex));
    expect(await contactOf(tom)).not.toBe(await contactOf(rex));
    const events = await stage.events(engine, 'message.received');
    expect(events.map(({ data }) => data['chat'])).toEqual([
      { id: tom, phone, is_group: false, username: null },
      { id: rex, phone, is_group: false, username: null },
    ]);
    await stage.sent(engine, tom);
    expect((await stage.lastEvent(engine)).data['chat']).toEqual({
      id: tom,
      is_group: false,
      username: null,
    });
  });

  test('sends to a LID go to that LID, sends to the phone number to the phone number', async () => {
    for (const to of [tom, rex]) await accept(to);
    expect((await chatsOfClaims()).sort()).toEqual([tom, rex].sort());
    const next = await stage.engine();
    await accept(phone, next);
    expect(await chatsOfClaims(next)).toEqual([jid(phone)]);
  });

  test('an opt-out of the former owner does not block the new one', async () => {
    await stage.receive(engine, stage.text(tom, 'SAIR'));
    await accept(rex);
    await accept(phone);
    await expect(accept(tom)).rejects.toMatchObject({ code: 'contact-opted-out' });
  });

  test('an answer of the new owner does not choose in a menu of the former one', async () => {
    await stage.menu(engine, tom);
    await stage.receive(engine, stage.text(rex, '1'));
    expect((await stage.lastEvent(engine)).type).toBe('message.received');
  });
});

describe('an opt-out of the new owner of a phone number that another instance knows by the former one', () => {
  let other: TestEngine;
  let queued: string;
  beforeEach(async () => {
    other = await stage.engine();
    await receive(other, tom, { alt: jid(phone) });
    queued = await accept(phone, other);
  });
  const optsOut = async () => {
    expect(await stage.message(queued)).toMatchObject({ status: 'failed', errorCode: 'opted_out' });
    for (const by of [engine, other]) {
      await expect(accept(phone, by)).rejects.toMatchObject({ code: 'contact-opted-out' });
    }
    await expect(accept(rex)).rejects.toMatchObject({ code: 'contact-opted-out' });
  };

  test('stops the sends of both instances', async () => {
    await receive(engine, rex, { alt: jid(phone) });
    await stage.receive(engine, stage.text(rex, 'SAIR'));
    await optsOut();
  });

  test('stops them if its message names the phone number', async () => {
    await stage.receive(engine, stage.text(rex, 'SAIR', { alt: jid(phone) }));
    await optsOut();
  });

  test('stops them if the phone number is seen later', async () => {
    await stage.receive(engine, stage.text(rex, 'SAIR'));
    await receive(engine, rex, { alt: jid(phone) });
    await optsOut();
  });

  test('holds after the other instance has seen the former owner again, who is not opted out', async () => {
    await receive(engine, rex, { alt: jid(phone) });
    await stage.receive(engine, stage.text(rex, 'SAIR'));
    await receive(other, tom, { alt: jid(phone) });
    await optsOut();
    await stage.receive(other, stage.text(tom, 'SAIR'));
    await stage.receive(other, stage.text(tom, 'VOLTAR'));
    await optsOut();
    await accept(tom, other);
    expect(await chatsOfClaims(other)).toEqual([tom]);
  });

  test('keeps the ids in events of the other instance', async () => {
    await receive(engine, rex, { alt: jid(phone) });
    await stage.receive(engine, stage.text(rex, 'SAIR'));
    await stage.sent(other, tom);
    expect((await stage.lastEvent(other)).data['chat']).toEqual({
      id: tom,
      phone,
      is_group: false,
      username: null,
    });
  });

  test('ends with the word of the new owner', async () => {
    await receive(engine, rex, { alt: jid(phone) });
    await stage.receive(engine, stage.text(rex, 'SAIR'));
    await stage.receive(engine, stage.text(rex, 'VOLTAR'));
    for (const by of [engine, other]) {
      await accept(phone, by);
      expect(await chatsOfClaims(by)).toEqual([jid(phone)]);
    }
  });
});

test('queued messages to a phone number follow it to the new owner', async () => {
  await receive(engine, tom, { alt: jid(phone) });
  const toTom = await accept(tom);
  const toPhone = await accept(phone);
  await receive(engine, rex, { alt: jid(phone) });
  const claimed = await engine.claim();
  expect(new Map(claimed.map(({ message_id, chat }) => [message_id, chat]))).toEqual(
    new Map([
      [toTom, tom],
      [toPhone, jid(phone)],
    ]),
  );
  const conversations = new Set(claimed.map(({ conversation_id }) => conversation_id));
  expect(conversations.size).toBe(2);
  await stage.receive(engine, stage.text(rex, 'SAIR'));
  expect(await stage.message(toPhone)).toMatchObject({ status: 'failed', errorCode: 'opted_out' });
  expect((await stage.message(toTom)).status).toBe('sending');
});

test('an opt-out by API follows the phone number', async () => {
  await receive(engine, tom, { alt: jid(phone) });
  await changeContact(stage.database, async (tx) => {
    const { accountId } = stage.internalApi.world;
    const contactId = (await lockContactNamed(tx, accountId, parseRecipient(phone)!, false))!;
    const given = {
      contactId,
      sandboxId: null,
      phone,
      source: 'api',
      keyword: null,
      instanceId: null,
    } as const;
    await optOut(tx, stage.internalApi.world.sealer, given);
  });
  await receive(engine, rex, { alt: jid(phone) });
  await expect(accept(phone)).rejects.toMatchObject({ code: 'contact-opted-out' });
  await accept(tom);
});

test('a contact with a new phone number is reached by each name, and shows the new one', async () => {
  const newPhone = stage.someone();
  await receive(engine, tom, { alt: jid(phone) });
  await receive(engine, tom, { alt: jid(newPhone) });
  expect((await stage.lastEvent(engine, 'message.received')).data['chat']).toEqual({
    id: tom,
    phone: newPhone,
    is_group: false,
    username: null,
  });
  for (const to of [phone, newPhone, tom]) {
    await accept(to);
    const [claimed] = await engine.claim();
    expect(claimed!.chat).toBe(to === tom ? tom : jid(to));
    await engine.sent(claimed!.message_id);
  }
  const sent = (await stage.events(engine, 'message.sent')).map(({ data }) => data['chat']);
  expect(sent.slice(1)).toEqual(
    [tom, tom].map((id) => ({ id, phone: newPhone, is_group: false, username: null })),
  );
});

describe('phone numbers that differ by a digit', () => {
  const forms = [
    ['Brazil', '5547989211988', '554789211988'],
    ['Mexico', '525512345678', '5215512345678'],
    ['Argentina', '541112345678', '5491112345678'],
  ] as const;

  test.each(forms)('%s: are one contact until the network knows both', async (_name, canonical, other) => {
    const [one, two] = [unique(canonical), unique(other)];
    await accept(one);
    await accept(two);
    expect(await stage.database.conversation.count({ where: { instanceId: engine.instanceId } })).toBe(1);
    // The network knows one form.
    await link(tom, two);
    await accept(one);
    expect(await stage.database.conversation.count({ where: { instanceId: engine.instanceId } })).toBe(1);
    const [claimed] = await engine.claim();
    expect(claimed!.chat).toBe(jid(one));
    await engine.sent(claimed!.message_id);
    expect((await stage.lastEvent(engine)).data['chat']).toEqual({
      id: tom,
      phone: two,
      is_group: false,
      username: null,
    });
  });

  test.each(forms.flatMap(([name, a, b]) => [[name, a, b] as const, [name, b, a] as const]))(
    '%s: two people share no conversation (%s known first)',
    async (_name, first, second) => {
      const [one, two] = [unique(first), unique(second)];
      const [toOne, toTwo] = [await accept(one), await accept(two)];
      await link(tom, one);
      await link(rex, two);
      const next = await accept(two);
      const rows = await Promise.all([toOne, toTwo, next].map((id) => stage.message(id)));
      const [a, b, c] = rows.map(({ conversationId }) => conversationId);
      expect(b).not.toBe(a);
      expect(c).toBe(b);
      await stage.receive(engine, stage.text(rex, 'SAIR'));
      expect((await stage.message(toOne)).status).toBe('queued');
      expect((await stage.message(toTwo)).status).toBe('failed');
      await accept(one);
      await expect(accept(two)).rejects.toMatchObject({ code: 'contact-opted-out' });
      // The links are stable.
      await link(tom, one);
      await link(rex, two);
      expect((await stage.message(toOne)).conversationId).toBe(a);
      await accept(one);
    },
  );

  let people = 0;
  beforeEach(() => (people += 1));
  /** Other tests of this process use the same account. */
  const unique = (digits: string) => digits.slice(0, -4) + String(people).padStart(4, '0');
});

test('concurrent accepts, receives and passing numbers lose no message', async () => {
  for (let round = 0; round < 4; round++) {
    const by = await stage.engine();
    const [p, one, two] = [stage.someone(), stage.someLid(), stage.someLid()];
    await receive(by, one, { alt: jid(p) });
    await Promise.all([
      ...Array.from({ length: 24 }, (_, i) => accept([p, one, two][i % 3]!, by)),
      ...Array.from({ length: 8 }, (_, i) => receive(by, [one, two][i % 2]!, { alt: jid(p) })),
    ]);
    const entries = await stage.database.outboxEntry.findMany({ where: { instanceId: by.instanceId } });
    expect(entries).toHaveLength(24);
    const heads = entries.filter(({ head }) => head);
    expect(new Set(heads.map(({ conversationId }) => conversationId)).size).toBe(
      new Set(entries.map(({ conversationId }) => conversationId)).size,
    );
    let claimedCount = 0;
    for (let claimed = await by.claim(); claimed.length > 0; claimed = await by.claim()) {
      claimedCount += claimed.length;
      for (const { message_id } of claimed) await by.sent(message_id);
    }
    expect(claimedCount).toBe(24);
  }
});
