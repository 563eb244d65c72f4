import { newUuid } from '@gwk/core/ids/ids';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { z } from 'zod';
import type { InstanceOut } from '../resources/instance.js';
import type { MessageOut } from '@gwk/core/resources/message';
import type { Answer, ApiClient } from '@gwk/test/support/api/client';
import type { FakeEngine } from '@gwk/test/support/api/fake-engine';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { OPERATIONS } from '../public-api/operations.js';

/**
 * Every operation that takes a contact, with a person who has an id and no phone number, and after the phone number became
 * known. The paths through the network are in test/smoke/hidden-phone.test.ts.
 */
let api: TestApi;
let client: ApiClient;
let id: string;
let engine: FakeEngine;
beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  client = await api.clientOf(await api.account());
  id = (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'shop' } })).body.id;
  engine = await api.engine(id);
  await engine.connect();
});

const LID = '101234567890123@lid';
const OTHER = '101234567890124@lid';
const PHONE = '5511987654321';
const JID = `${PHONE}@s.whatsapp.net`;
const GROUP = '120363000000000001@g.us';

type Any = Answer<ProblemBody & { data: MessageOut[] }>;
const at = (rest: string) => `/v1/instances/${id}/${rest}`;
const call = (method: string, path: string, body?: unknown): Promise<Any> =>
  client.call(method, path, { ...(body !== undefined && { body }) });
const send = (to: string, text: string = newUuid(), more = {}): Promise<Any> =>
  call('POST', '/v1/messages', { instance_id: id, to, type: 'text', text: { body: text }, ...more });
const outcome = ({ status, body }: Any) => (status < 300 ? 'accepted' : body.type.split('/').at(-1));
const policy = (given: object) => call('PATCH', `/v1/instances/${id}`, { policy: given });
const receive = async (given: Partial<InboundMessage> = {}) => {
  const message: InboundMessage = {
    wa_message_id: newUuid(),
    chat: LID,
    from: LID,
    from_name: null,
    from_me: false,
    at: new Date().toISOString(),
    type: 'text',
    text: 'oi',
    quoted_wa_message_id: null,
    ...given,
  };
  await engine.call('inbound', { messages: [message] });
  return message.wa_message_id;
};
/** The network tells the phone number of the person. */
const showPhone = () => receive({ alt: JID });
const messagesTo = async (to: string) =>
  (await call('GET', `/v1/messages?to=${encodeURIComponent(to)}`)).body.data.length;

/** By operation; null: its fields of these names are not contacts. */
const CASES: Record<string, (() => Promise<void>) | null> = {
  async sendMessage() {
    expect(outcome(await send(LID))).toBe('accepted');
    expect(outcome(await send(GROUP, `@${LID}`, { mentions: [LID] }))).toBe('accepted');
    const claimed = await engine.claim(10);
    expect(claimed.map(({ chat }) => chat).sort()).toEqual([LID, GROUP].sort());
    expect(claimed.find(({ chat }) => chat === GROUP)!.content).toContain(`"mentions":["${LID}"]`);
  },

  async listMessages() {
    await send(LID);
    await receive();
    await send(OTHER);
    expect(await messagesTo(LID)).toBe(2);
    expect(await messagesTo(PHONE)).toBe(0);
    await showPhone();
    for (const name of [LID, PHONE, JID, '551187654321']) expect(await messagesTo(name)).toBe(3);
  },

  async markRead() {
    engine.handlers.read = () => null;
    const first = await receive();
    const marks = (chat: string, mark: string) =>
      call('POST', at(`chats/${encodeURIComponent(chat)}/read`), { wa_message_ids: [mark] });
    expect((await marks(LID, first)).status).toBe(204);
    const second = await showPhone();
    expect((await marks(PHONE, second)).status).toBe(204);
    expect(engine.received.map(({ args }) => args['chat'])).toEqual([LID, LID]);
    const { data } = (await call('GET', `/v1/messages?to=${PHONE}`)).body;
    expect(data.map(({ status }) => status)).toEqual(['read', 'read']);
  },

  async setPresence() {
    engine.handlers.presence = () => null;
    const show = (chat: string) =>
      call('POST', at(`chats/${encodeURIComponent(chat)}/presence`), { state: 'typing' });
    expect((await show(LID)).status).toBe(204);
    await showPhone();
    expect((await show(PHONE)).status).toBe(204);
    expect(engine.received.map(({ args }) => args['chat'])).toEqual([LID, LID]);
  },

  async checkContact() {
    engine.handlers['check-contact'] = ({ lid }) => ({ jid: lid, lid });
    const { body } = await call('GET', at(`contacts/${LID}`));
    expect(body).toEqual({ phone: null, exists: true, jid: LID, id: LID, lid: LID, username: null });
  },

  async createOptOut() {
    expect((await call('POST', '/v1/opt-outs', { contact: LID })).status).toBe(201);
    await showPhone();
    for (const to of [LID, PHONE]) expect(outcome(await send(to))).toBe('contact-opted-out');
  },

  async listOptOuts() {
    await call('POST', '/v1/opt-outs', { contact: LID });
    await call('POST', '/v1/opt-outs', { contact: OTHER });
    const { data } = (await call('GET', `/v1/opt-outs?contact=${LID}`)).body;
    expect(data).toMatchObject([{ phone: null, contact_id: LID }]);
  },

  async deleteOptOut() {
    await call('POST', '/v1/opt-outs', { contact: LID });
    expect((await call('DELETE', `/v1/opt-outs/${LID}`)).status).toBe(204);
    expect(outcome(await send(LID))).toBe('accepted');
  },

  /** `phone` is the own number. */
  startPairing: null,
  async simulateInbound() {
    const body = { name: 'test', kind: 'sandbox' };
    const sandbox = (await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id;
    const write = (from: string, text: string) =>
      call('POST', `/v1/instances/${sandbox}/sandbox/inbound`, { from, text });
    for (const from of [LID, PHONE]) {
      expect(outcome(await write(from, 'SAIR'))).toBe('accepted');
      const message = { instance_id: sandbox, to: from, type: 'text', text: { body: 'oi' } };
      expect(outcome(await call('POST', '/v1/messages', message))).toBe('contact-opted-out');
      await write(from, 'VOLTAR');
      expect(outcome(await call('POST', '/v1/messages', message))).toBe('accepted');
    }
    expect(outcome(await write(GROUP, 'oi'))).toBe('invalid-phone');
  },
};

test('covers every operation that takes a contact', () => {
  const found = OPERATIONS.filter((operation) => {
    const { path, query, body } = operation;
    const fields = [query, body].flatMap(listFields);
    const places = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    return [...fields, ...places].some((name) => PERSONS.has(name));
  });
  expect(found.map(({ name }) => name).sort()).toEqual(Object.keys(CASES).sort());
});
const listFields = (schema: z.ZodType | undefined): string[] => {
  const object = schema instanceof z.ZodNullable ? schema.unwrap() : schema;
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
};
const PERSONS = new Set(['phone', 'contact', 'chat', 'to', 'from', 'mentions']);

test.each(Object.entries(CASES).filter(([, run]) => run !== null))('%s', (_name, run) => run!());

describe('limits count the person', () => {
  test('new contacts a day: a new contact by the id is none by the phone number', async () => {
    await policy({ new_contacts_per_day: 1 });
    expect(outcome(await send(LID))).toBe('accepted');
    expect(outcome(await send(OTHER))).toBe('policy-new-contacts-limit');
    await engine.call('names', { lid: LID, phone: PHONE });
    for (const to of [PHONE, JID, LID]) expect(outcome(await send(to))).toBe('accepted');
  });

  test('new contacts a day: a person who wrote is none', async () => {
    await policy({ new_contacts_per_day: 1 });
    await send(OTHER);
    await receive();
    expect(outcome(await send(LID))).toBe('accepted');
  });

  test('mass block: the same text by both names goes to one contact', async () => {
    await policy({ mass_block: { max_contacts: 2, window_minutes: 60 } });
    for (const to of [LID, OTHER]) expect(outcome(await send(to, 'Promoção!'))).toBe('accepted');
    expect(outcome(await send('101234567890125@lid', 'Promoção!'))).toBe('policy-mass-send-blocked');
    await engine.call('names', { lid: LID, phone: PHONE });
    expect(outcome(await send(PHONE, 'Promoção!'))).toBe('accepted');
  });

  test('active hours: a person who wrote in the last day is answered at any time', async () => {
    const now = new Date().getUTCHours();
    const [start, end] = [2, 3].map((hours) => `${String((now + hours) % 24).padStart(2, '0')}:00`);
    await policy({ active_hours: { start, end, timezone: 'UTC', outside: 'reject' } });
    expect(outcome(await send(LID))).toBe('policy-outside-hours');
    await receive();
    expect(outcome(await send(LID))).toBe('accepted');
  });
});

describe('words', () => {
  test('opt the person out and in again, with events that name the id', async () => {
    await receive({ text: 'SAIR' });
    expect(outcome(await send(LID))).toBe('contact-opted-out');
    await receive({ text: 'VOLTAR' });
    expect(outcome(await send(LID))).toBe('accepted');
    const { data } = (await call('GET', '/v1/events')).body as unknown as {
      data: { type: string; data: { contact?: unknown } }[];
    };
    const contacts = data.filter(({ type }) => type.startsWith('contact.opted_'));
    expect(contacts.map(({ type }) => type)).toEqual(['contact.opted_in', 'contact.opted_out']);
    for (const event of contacts) expect(event.data.contact).toMatchObject({ id: LID });
  });
});
