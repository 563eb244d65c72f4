import { fromPublicId } from '@gwk/core/ids/ids';
import { MAX_READ_MARKS, type ContactCheckOut } from '@gwk/core/resources/live';
import type { InstanceOut } from '../resources/instance.js';
import type { Page } from '@gwk/core/resources/common';
import type { EventOut } from '../resources/event.js';
import type { MessageOut } from '@gwk/core/resources/message';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { ManualClock } from '@gwk/test/support/clock';
import { until } from '@gwk/test/support/wait';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';
import { DEADLINES } from '../engine-commands/ask-engine.js';
import { CommandRefusal, type FakeEngine } from '@gwk/test/support/api/fake-engine';

/** Requests wait for engines on this clock. */
const clock = new ManualClock();
let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let id: string;

beforeAll(async () => {
  api = await openApi({ clock });
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  const created = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'loja' } });
  id = created.body.id;
});
afterAll(() => api.stop());

const at = (rest: string): string => `/v1/instances/${id}/${rest}`;
const post = (rest: string, body?: unknown) => client.call<InstanceOut>('POST', at(rest), { body });
const problemCode = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const uuid = () => fromPublicId('instance', id)!;
const row = () => api.db.instance.findUniqueOrThrow({ where: { id: uuid() } });
const readInstance = async () => (await client.call<InstanceOut>('GET', `/v1/instances/${id}`)).body;
const eventTypes = async () =>
  (await client.call<Page<EventOut>>('GET', '/v1/events', { query: { instance_id: id } })).body.data.map(
    ({ type }) => type,
  );

/** Starts an engine with an open connection. */
async function startConnectedEngine(): Promise<FakeEngine> {
  const engine = await api.engine(id);
  await engine.connect();
  return engine;
}

/** Passes the time in which an engine must answer. */
async function passTime(ms: number): Promise<void> {
  await until(() => clock.count(ms) > 0, { what: 'a request waits for the engine' });
  clock.advance(ms);
}

describe('logout', () => {
  test('the engine logs out and reports the state: 204, pending_pair, without an extra event', async () => {
    const engine = await startConnectedEngine();
    engine.handlers.logout = async () => {
      await engine.reportState('pending_pair', { reason: 'logout', jid: null, business_name: null });
      return { unlinked: true };
    };
    expect((await post('logout')).status).toBe(204);
    expect(await readInstance()).toMatchObject({ state: 'pending_pair', jid: null, business_name: null });
    expect((await row()).unlinkId).toBeNull();
    expect(await eventTypes()).toEqual(['instance.connected', 'instance.paired']);
  });

  test('without an engine: 204, and the next engine unlinks; its reports about the old link are ignored', async () => {
    const first = await startConnectedEngine();
    await first.stop();
    expect((await post('logout')).status).toBe(204);
    expect(await readInstance()).toMatchObject({ state: 'pending_pair', jid: null });
    const next = await api.engine(id);
    const unlink = next.terms.unlink!;
    expect(unlink).toBe((await row()).unlinkId);
    await next.reportState('connected', { jid: '5511900000000@s.whatsapp.net' });
    expect(await readInstance()).toMatchObject({ state: 'pending_pair', jid: null });
    expect(await next.call('renew', { connected: false })).toMatchObject({ unlink });
    await next.call('unlinked', { id: unlink });
    expect(await next.call('renew', { connected: false })).toMatchObject({ unlink: null });
    await next.connect();
    expect(await readInstance()).toMatchObject({ state: 'connected' });
  });

  test('an engine that does not answer in time: 204, and its next renewal requests the unlink', async () => {
    const engine = await startConnectedEngine();
    const answering = post('logout');
    await passTime(DEADLINES.logout);
    expect((await answering).status).toBe(204);
    expect(engine.received.map(({ name }) => name)).toEqual(['logout']);
    expect(await readInstance()).toMatchObject({ state: 'pending_pair' });
    expect((await engine.call('renew', { connected: true })).unlink).not.toBeNull();
  });

  test('an instance that was unlinked on the phone: pending_pair, without another unlink', async () => {
    const engine = await startConnectedEngine();
    await engine.reportState('logged_out', { reason: 'removed' });
    await engine.stop();
    expect((await post('logout')).status).toBe(204);
    expect((await row()).unlinkId).toBeNull();
    expect((await readInstance()).state).toBe('pending_pair');
  });

  test('ends an open pairing', async () => {
    await api.db.pairingSession.create({
      data: { instanceId: uuid(), id: uuid(), method: 'qr', state: 'pairing' },
    });
    expect((await post('logout')).status).toBe(204);
    const pairing = await client.call('GET', at('pairing'));
    expect(pairing.body).toMatchObject({ state: 'pending_pair', qr: null });
  });

  test('a second logout changes nothing', async () => {
    expect([(await post('logout')).status, (await post('logout')).status]).toEqual([204, 204]);
    expect((await readInstance()).state).toBe('pending_pair');
  });
});

describe('restart', () => {
  test('202 with the instance once the engine has answered', async () => {
    const engine = await startConnectedEngine();
    engine.handlers.restart = async () => {
      await engine.reportState('disconnected', { reason: 'restart' });
      return null;
    };
    const { status, body } = await post('restart');
    expect(status).toBe(202);
    expect(body).toMatchObject({ id, state: 'disconnected' });
  });

  test('an engine that does not answer in time: 503 engine-unavailable with Retry-After', async () => {
    await startConnectedEngine();
    const answering = post('restart');
    await passTime(DEADLINES.restart);
    const answer = await answering;
    expect([answer.status, problemCode(answer)]).toEqual([503, 'engine-unavailable']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  });

  test('a paired instance without an engine: 503 at once', async () => {
    await (await startConnectedEngine()).stop();
    // The clock does not advance, so a request that waited for an engine would hang.
    expect((await post('restart')).status).toBe(503);
  });

  test.each(['pending_pair', 'logged_out', 'banned'])(
    'a %s instance has no connection to restart: 202',
    async (state) => {
      await api.db.instance.update({ where: { id: uuid() }, data: { state } });
      expect(await post('restart')).toMatchObject({ status: 202, body: { state } });
    },
  );
});

describe('contacts', () => {
  const check = (phone: string) => client.call<ContactCheckOut>('GET', at(`contacts/${phone}`));
  const answering = async (jid: string | null = '5511987654321@s.whatsapp.net', lid?: string) => {
    const engine = await startConnectedEngine();
    engine.handlers['check-contact'] = () => ({ jid, lid });
    return engine;
  };

  test('returns whether a phone number is on WhatsApp and its jid, and asks the network once a day', async () => {
    const engine = await answering();
    const jid = '5511987654321@s.whatsapp.net';
    const existing = { phone: '5511987654321', exists: true, jid, lid: null, id: jid, username: null };
    expect(await check('5511987654321')).toMatchObject({ status: 200, body: existing });
    expect((await check('5511987654321')).body).toEqual(existing);
    expect(engine.received).toEqual([{ name: 'check-contact', args: { phone: '5511987654321' } }]);
    await api.db.contactCheck.updateMany({
      where: { instanceId: uuid() },
      data: { checkedAt: new Date(Date.now() - 24 * 3_600_000 - 1) },
    });
    await check('5511987654321');
    expect(engine.received).toHaveLength(2);
  });

  test('reports a phone number that is not on WhatsApp', async () => {
    await answering(null);
    const absent = { phone: '551199990000', exists: false, jid: null, lid: null, id: null, username: null };
    expect((await check('551199990000')).body).toEqual(absent);
  });

  const LID = '101234567890123@lid';
  test('looks up a person by the LID, whose phone number is unknown, and asks the network once a day', async () => {
    const engine = await answering(LID, LID);
    const found = { phone: null, exists: true, jid: LID, lid: LID, id: LID, username: null };
    expect((await check(LID)).body).toEqual(found);
    expect((await check(encodeURIComponent('101234567890123:7@lid'))).body).toEqual(found);
    expect(engine.received).toEqual([{ name: 'check-contact', args: { lid: LID } }]);
  });

  test('links the LID with the phone number that the network knows', async () => {
    await client.call('POST', '/v1/opt-outs', { body: { contact: LID } });
    await answering('5511987654321@s.whatsapp.net', LID);
    const jid = '5511987654321@s.whatsapp.net';
    const found = { phone: '5511987654321', exists: true, jid, lid: LID, id: LID, username: null };
    expect((await check(LID)).body).toEqual(found);
    expect((await check(LID)).body).toEqual(found);
    const body = { instance_id: id, to: '5511987654321', type: 'text', text: { body: 'oi' } };
    expect(problemCode(await client.call('POST', '/v1/messages', { body }))).toBe('contact-opted-out');
  });

  test('shows the username of a person who has written', async () => {
    const engine = await answering(LID, LID);
    const message = received('U1', { chat: LID, from: LID, username: 'eva.named' });
    await engine.call('inbound', { messages: [message] });
    expect((await check(LID)).body).toMatchObject({ id: LID, username: 'eva.named' });
  });

  test.each<[string, object]>([
    ['an answer without it', { jid: null }],
    ['a failure', new CommandRefusal('internal')],
  ])(
    'a LID of an engine of the former release, which does not know LIDs, is unavailable: %s',
    async (_, reply) => {
      const engine = await startConnectedEngine();
      engine.handlers['check-contact'] = () => reply;
      expect(problemCode(await check(LID))).toBe('engine-unavailable');
      expect(await api.db.contactCheck.count({ where: { instanceId: uuid() } })).toBe(0);
    },
  );

  test('a LID that the network does not know', async () => {
    await answering(null, LID);
    expect((await check(LID)).body).toMatchObject({ phone: null, exists: false, jid: null, id: null });
  });

  test('a phone number as a network id is the phone number', async () => {
    const engine = await answering(undefined, LID);
    const { body } = await check('5511987654321@s.whatsapp.net');
    expect(body).toMatchObject({ phone: '5511987654321', id: LID });
    expect((await check('5511987654321')).body).toEqual(body);
    expect(engine.received).toHaveLength(1);
  });

  const REGISTERED = '491511234567';
  test.each([
    ['merges a phone number with the registered one, by their LID', '4491511234567@lid', 'contact-opted-out'],
    ['merges two phone numbers without a LID never', undefined, undefined],
  ])('%s', async (_name, lid, code) => {
    await client.call('POST', '/v1/opt-outs', { body: { phone: '4915112345678' } });
    await answering(`${REGISTERED}@s.whatsapp.net`, lid);
    await check('4915112345678');
    const body = { instance_id: id, to: REGISTERED, type: 'text', text: { body: 'oi' } };
    const answer = await client.call('POST', '/v1/messages', { body });
    expect(answer.status === 202 ? undefined : problemCode(answer)).toBe(code);
  });

  test('answers from the cache without an engine', async () => {
    const engine = await answering();
    await check('5511987654321');
    await engine.stop();
    expect((await check('5511987654321')).status).toBe(200);
    expect((await check('5511987654322')).status).toBe(503);
  });

  test('limits uncached checks to 20 a minute an instance: 429 rate-limited; cached ones still succeed', async () => {
    await answering();
    const phones = Array.from({ length: 41 }, (_, i) => `55119876500${10 + i}`);
    const answers: Awaited<ReturnType<typeof check>>[] = [];
    for (const phone of phones) {
      answers.push(await check(phone));
      if (answers.at(-1)!.status !== 200) break;
    }
    // A new minute may have begun in between.
    expect([20, 40]).toContain(Math.ceil((answers.length - 1) / 20) * 20);
    const refused = answers.at(-1)!;
    expect([refused.status, problemCode(refused)]).toEqual([429, 'rate-limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await check(phones[0]!)).status).toBe(200);
  });

  test.each(['1234567', '1234567890123456', '+5511987654321', 'abc', '120363000000000001@g.us', '12@lid'])(
    '%s: invalid-phone',
    async (phone) => {
      const answer = await check(encodeURIComponent(phone));
      expect([answer.status, problemCode(answer)]).toEqual([422, 'invalid-phone']);
    },
  );

  test('a disconnected engine: 503 engine-unavailable with Retry-After', async () => {
    const engine = await startConnectedEngine();
    engine.handlers['check-contact'] = () => new CommandRefusal('not-connected');
    const answer = await check('5511987654321');
    expect([answer.status, problemCode(answer)]).toEqual([503, 'engine-unavailable']);
    expect(answer.headers['retry-after']).toBeDefined();
  });
});

const received = (waMessageId: string, more: Partial<InboundMessage> = {}): InboundMessage => ({
  wa_message_id: waMessageId,
  chat: '5511987654321@s.whatsapp.net',
  from: '5511987654321@s.whatsapp.net',
  from_name: 'Ana',
  from_me: false,
  at: new Date().toISOString(),
  type: 'text',
  text: 'oi',
  quoted_wa_message_id: null,
  ...more,
});
const messages = async () =>
  (await client.call<Page<MessageOut>>('GET', '/v1/messages', { query: { instance_id: id } })).body.data;

describe('read marks', () => {
  const read = (chat: string, wa_message_ids: unknown) =>
    client.call('POST', at(`chats/${encodeURIComponent(chat)}/read`), { body: { wa_message_ids } });

  test('informs the contact and marks the received messages as read', async () => {
    const engine = await startConnectedEngine();
    engine.handlers.read = () => null;
    await engine.call('inbound', { messages: [received('A1'), received('A2'), received('A3')] });
    expect((await read('5511987654321', ['A1', 'A3', 'A1', 'unknown'])).status).toBe(204);
    expect(engine.received).toEqual([
      {
        name: 'read',
        args: {
          chat: '5511987654321@s.whatsapp.net',
          messages: ['A1', 'A3', 'unknown'].map((wa_message_id) => ({ wa_message_id, participant: null })),
        },
      },
    ]);
    const statuses = (await messages()).map((m) => `${m.wa_message_id} ${m.status} ${m.read_at !== null}`);
    expect(statuses).toEqual(['A3 read true', 'A2 delivered false', 'A1 read true']);
  });

  test('in a group, names the author of each message', async () => {
    const engine = await startConnectedEngine();
    engine.handlers.read = () => null;
    const group = '120363000000000001@g.us';
    await engine.call('inbound', { messages: [received('G1', { chat: group })] });
    expect((await read(group, ['G1'])).status).toBe(204);
    expect(engine.received[0]!.args).toMatchObject({
      chat: group,
      messages: [{ wa_message_id: 'G1', participant: '5511987654321@s.whatsapp.net' }],
    });
    expect((await messages())[0]!.status).toBe('read');
  });

  test('names the broadcast list by which a message came', async () => {
    const engine = await startConnectedEngine();
    engine.handlers.read = () => null;
    const list = '1700000000@broadcast';
    await engine.call('inbound', { messages: [received('B1', { list }), received('B2')] });
    expect((await read('5511987654321', ['B1', 'B2'])).status).toBe(204);
    expect(engine.received[0]!.args).toMatchObject({
      chat: '5511987654321@s.whatsapp.net',
      messages: [
        { wa_message_id: 'B1', participant: null, list },
        { wa_message_id: 'B2', participant: null },
      ],
    });
    expect((await messages()).map(({ status }) => status)).toEqual(['read', 'read']);
  });

  test('answer the id by which each message came', async () => {
    const engine = await startConnectedEngine();
    engine.handlers.read = () => null;
    const [phone, lid] = ['5511987654321@s.whatsapp.net', '101234567890123@lid'];
    const byLid = { chat: lid, from: lid, alt: phone };
    await engine.call('inbound', { messages: [received('P1', { alt: lid }), received('L1', byLid)] });
    expect((await read('5511987654321', ['P1', 'L1', 'unknown'])).status).toBe(204);
    const mark = (wa_message_id: string) => ({ wa_message_id, participant: null });
    expect(engine.received.map(({ args }) => args)).toEqual([
      { chat: phone, messages: [mark('P1')] },
      { chat: lid, messages: [mark('L1'), mark('unknown')] },
    ]);
    expect((await messages()).map((row) => [row.to, row.lid, row.status])).toEqual([
      ['5511987654321', lid, 'read'],
      ['5511987654321', lid, 'read'],
    ]);
  });

  test('uses a LID as it is', async () => {
    const engine = await startConnectedEngine();
    engine.handlers.read = () => null;
    expect((await read('123456789@lid', ['L1'])).status).toBe(204);
    expect(engine.received[0]!.args).toMatchObject({ chat: '123456789@lid' });
  });

  test('leaves the messages unread if the contact was not informed', async () => {
    const engine = await startConnectedEngine();
    engine.handlers.read = () => new CommandRefusal('not-connected');
    await engine.call('inbound', { messages: [received('A1')] });
    const answer = await read('5511987654321', ['A1']);
    expect([answer.status, problemCode(answer)]).toEqual([503, 'engine-unavailable']);
    expect((await messages())[0]!.status).toBe('delivered');
  });

  test.each<[string, string, unknown, string]>([
    ['no message', '5511987654321', [], 'validation-error'],
    ['something other than an array', '5511987654321', 'A1', 'validation-error'],
    [
      'too many messages',
      '5511987654321',
      Array.from({ length: MAX_READ_MARKS + 1 }, String),
      'validation-error',
    ],
    ['an invalid chat', 'somebody', ['A1'], 'invalid-phone'],
  ])('refuses %s', async (_name, chat, ids, code) => {
    const answer = await read(chat, ids);
    expect([answer.status, problemCode(answer)]).toEqual([422, code]);
  });
});

describe('presence', () => {
  test.each(['typing', 'recording', 'paused'])('sends %s to the chat', async (state) => {
    const engine = await startConnectedEngine();
    engine.handlers.presence = () => null;
    expect((await post('chats/5511987654321/presence', { state })).status).toBe(204);
    expect(engine.received[0]!.args).toEqual({ chat: '5511987654321@s.whatsapp.net', state });
  });

  test('refuses an unknown state, an unknown field and a missing state', async () => {
    for (const body of [{ state: 'dancing' }, { state: 'typing', for_s: 5 }, {}]) {
      expect(problemCode(await post('chats/5511987654321/presence', body))).toBe('validation-error');
    }
  });
});

test('each operation needs its scope, and answers 404 to other accounts', async () => {
  const calls: [string, string, object | undefined, string][] = [
    ['POST', 'logout', undefined, 'instances:write'],
    ['POST', 'restart', undefined, 'instances:write'],
    ['GET', 'contacts/5511987654321', undefined, 'instances:read'],
    ['POST', 'chats/5511987654321/read', { wa_message_ids: ['A'] }, 'messages:send'],
    ['POST', 'chats/5511987654321/presence', { state: 'typing' }, 'messages:send'],
  ];
  const other = await api.clientOf(account, { scopes: ['events:read'] });
  const foreign = await api.clientOf(await api.account());
  for (const [method, path, body, scope] of calls) {
    const refused = await other.call(method, at(path), { body });
    expect(refused).toMatchObject({ status: 403, body: { required_scope: scope } });
    expect((await foreign.call(method, at(path), { body })).status).toBe(404);
  }
});
