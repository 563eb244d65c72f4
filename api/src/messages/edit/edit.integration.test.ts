import { FAILURE_TEXTS } from '@gwk/core/states';
import { fromPublicId } from '@gwk/core/ids/ids';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { InstanceOut } from '../../resources/instance.js';
import type { MessageOut } from '@gwk/core/resources/message';
import { sharedApi } from '@gwk/test/support/api/open-api';
import { LiveCommands } from '../../engine-commands/commands.js';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

/** Refusals and cancellations without an engine. test/smoke/messages.test.ts covers the rest. */
let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let instance: string;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  const body = { name: 'um', kind: 'sandbox' };
  instance = (await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id;
});

const codeOf = ({ body }: { body: unknown }) =>
  (body as { type?: string } | undefined)?.type?.split('/').at(-1);
const uuidOf = (id: string) => fromPublicId('message', id)!;

async function acceptMessage(more: object = {}): Promise<MessageOut> {
  const body = { instance_id: instance, to: '5511987654321', type: 'text', text: { body: 'oi' }, ...more };
  return (await client.call<MessageOut>('POST', '/v1/messages', { body })).body;
}
/** A message that was sent at the given time. */
async function sendMessage(sentAt = new Date(), more: object = {}): Promise<MessageOut> {
  const message = await acceptMessage(more);
  const id = uuidOf(message.id);
  await api.db.outboxEntry.delete({ where: { messageId: id } });
  await api.db.message.updateMany({ where: { id }, data: { status: 'sent', sentAt } });
  return message;
}
/** A message accepted outside active hours. */
async function scheduleMessage(): Promise<MessageOut> {
  const hour = (offset: number) =>
    `${String((new Date().getUTCHours() + 24 + offset) % 24).padStart(2, '0')}:00`;
  const active_hours = { start: hour(4), end: hour(6), timezone: 'UTC', outside: 'schedule' };
  await client.call('PATCH', `/v1/instances/${instance}`, { body: { policy: { active_hours } } });
  const message = await acceptMessage();
  expect(Date.parse(message.scheduled_for!)).toBeGreaterThan(Date.now());
  return message;
}

const edit = (id: string, who = client) =>
  who.call('PATCH', `/v1/messages/${id}`, { body: { text: 'novo' } });
const remove = (id: string, who = client) => who.call('DELETE', `/v1/messages/${id}`);
const react = (id: string, who = client) =>
  who.call('POST', `/v1/messages/${id}/reactions`, { body: { emoji: '👍' } });
const OPERATIONS = { edit, remove, react };
type Name = keyof typeof OPERATIONS;
const each = Object.keys(OPERATIONS) as Name[];

test.each(each)('%s: returns 503 with Retry-After at once without an engine', async (name) => {
  const { id } = await sendMessage();
  const ask = jest.spyOn(LiveCommands.prototype, 'ask');
  const answer = await OPERATIONS[name](id);
  expect([answer.status, codeOf(answer)]).toEqual([503, 'engine-unavailable']);
  // A command to an absent engine would time out after 8 s.
  expect(ask).not.toHaveBeenCalled();
  ask.mockRestore();
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  expect((await client.call<MessageOut>('GET', `/v1/messages/${id}`)).body.status).toBe('sent');
});

test('a message written on the phone is listed, reacted to, edited and deleted as the own one', async () => {
  const { body } = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'two' } });
  const engine = await api.engine(body.id);
  await engine.connect();
  const chat = '5511987654321@s.whatsapp.net';
  const written: InboundMessage = {
    ...{
      wa_message_id: '3EB0PHONE',
      chat,
      from: '5511900000000@s.whatsapp.net',
      from_name: null,
      from_me: true,
    },
    ...{ at: new Date().toISOString(), type: 'text', text: 'oi', quoted_wa_message_id: null },
  };
  await engine.call('inbound', { messages: [written] });
  const list = async (query: string) =>
    (await client.call<{ data: MessageOut[] }>('GET', `/v1/messages?instance_id=${body.id}${query}`)).body
      .data;
  const [message] = await list('&status=sent&to=5511987654321');
  expect(message).toMatchObject({ status: 'sent', type: 'text' });
  expect(await list('&status=read')).toEqual([]);
  const asked: [string, unknown][] = [];
  for (const name of ['react', 'edit', 'delete'] as const)
    engine.handlers[name] = ({ message: named }: Record<string, unknown>) => ({
      count: asked.push([name, named]),
    });
  const { id } = message!;
  const answers = [await react(id), await edit(id), await remove(id)];
  expect(answers.map(({ status }) => status)).toEqual([204, 200, 204]);
  const own = { chat, from_me: true, wa_message_id: '3EB0PHONE' };
  expect(asked).toMatchObject([
    ['react', own],
    ['edit', own],
    ['delete', own],
  ]);
});

/** A received message; with a participant in a group. */
async function receiveMessage(participant: string | null, sentAt = new Date()): Promise<MessageOut> {
  const message = await sendMessage(sentAt);
  const data = { direction: 'inbound', status: 'delivered', participant };
  await api.db.message.updateMany({ where: { id: uuidOf(message.id) }, data });
  return message;
}
const detailOf = ({ body }: { body: unknown }) => (body as { detail: string }).detail;
const reply = (answer: unknown) =>
  jest.spyOn(LiveCommands.prototype, 'ask').mockResolvedValue(answer as never);

describe('a message of another person', () => {
  beforeEach(async () => {
    const lease = { holder: crypto.randomUUID(), expiresAt: new Date(Date.now() + 60_000) };
    await api.db.instanceLease.update({
      where: { instanceId: fromPublicId('instance', instance)! },
      data: lease,
    });
  });
  afterEach(() => jest.restoreAllMocks());

  test('is deleted for everyone by an admin of the group', async () => {
    const ask = reply({ ok: true });
    const { id } = await receiveMessage('123456@lid');
    expect((await remove(id)).status).toBe(204);
    expect(ask.mock.calls[0]).toMatchObject([
      {},
      'delete',
      { message: { from_me: false, participant: '123456@lid' } },
      expect.any(Number),
    ]);
    expect(await api.db.message.findFirst({ where: { id: uuidOf(id) } })).toMatchObject({
      deletedForAll: true,
    });
    expect((await remove(id)).status).toBe(204);
    expect(ask).toHaveBeenCalledTimes(1);
  });

  test.each<[string, (id: string) => ReturnType<typeof remove>, [string | null, number], RegExp]>([
    ['a deletion without admin rights', remove, ['123456@lid', 0], /não é administrador/],
    ['a late deletion', remove, ['123456@lid', 61], /60 horas/],
    ['a deletion in a direct chat', remove, [null, 0], /Só quem escreveu/],
    ['an edit', edit, ['123456@lid', 0], /Só quem escreveu/],
  ])('%s names the reason', async (_, change, [participant, hours], detail) => {
    reply({ ok: false, code: 'not_admin', message: 'the number is not an admin of the group' });
    const { id } = await receiveMessage(participant, new Date(Date.now() - hours * 3_600_000));
    const answer = await change(id);
    expect([answer.status, codeOf(answer)]).toEqual([409, 'not-editable']);
    expect(detailOf(answer)).toMatch(detail);
  });
});

test.each(each)('%s: returns 404 for a foreign, hidden or unknown message', async (name) => {
  const { id } = await sendMessage();
  const otherAccount = await api.clientOf(await api.account());
  const body = { name: 'dois', kind: 'sandbox' };
  const other = (await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id;
  const restricted = await api.clientOf(account, { instances: [fromPublicId('instance', other)!] });
  for (const who of [otherAccount, restricted]) {
    const answer = await OPERATIONS[name](id, who);
    expect([answer.status, codeOf(answer)]).toEqual([404, 'not-found']);
  }
  for (const unknown of [`msg_${'0'.repeat(32)}`, 'msg_1']) {
    expect(codeOf(await OPERATIONS[name](unknown))).toBe('not-found');
  }
});

test.each(each)('%s: returns 404 for a message of a deleted instance', async (name) => {
  const { id } = await sendMessage();
  await client.call('DELETE', `/v1/instances/${instance}`);
  expect(codeOf(await OPERATIONS[name](id))).toBe('not-found');
});

test.each<[Name, string | undefined]>([
  ['edit', 'account-suspended'],
  ['react', 'account-suspended'],
  // A suspended account may still delete.
  ['remove', 'engine-unavailable'],
])('%s of a suspended account: %s', async (name, code) => {
  const { id } = await sendMessage();
  await api.db.account.update({ where: { id: account.id }, data: { suspendedAt: new Date() } });
  expect(codeOf(await OPERATIONS[name](id, await api.clientOf(account)))).toBe(code);
});

test('refuses an edit after 15 minutes', async () => {
  const { id } = await sendMessage(new Date(Date.now() - 15 * 60_000 - 1_000));
  const answer = await edit(id);
  expect([answer.status, codeOf(answer)]).toEqual([409, 'edit-window-closed']);
});

test('refuses to edit, delete or react to a queued message', async () => {
  const { id } = await acceptMessage();
  for (const name of each) {
    const answer = await OPERATIONS[name](id);
    expect([answer.status, codeOf(answer)]).toEqual([409, 'message-not-sent']);
  }
});

test('cancels a scheduled message once, with one event', async () => {
  const { id } = await scheduleMessage();
  expect(codeOf(await edit(id))).toBe('message-not-sent');
  expect((await remove(id)).status).toBe(204);
  const { body } = await client.call<MessageOut>('GET', `/v1/messages/${id}`);
  expect(body).toMatchObject({
    status: 'failed',
    error: { code: 'canceled', message: FAILURE_TEXTS.canceled.pt },
  });
  expect(await api.db.outboxEntry.findUnique({ where: { messageId: uuidOf(id) } })).toBeNull();
  expect((await remove(id)).status).toBe(204);
  const events = await client.call<{ data: { data: unknown }[] }>('GET', '/v1/events', {
    query: { type: 'message.failed' },
  });
  expect(events.body.data.map(({ data }) => data)).toMatchObject([
    { message_id: id, error: { code: 'canceled' } },
  ]);
});

test('emits one event for concurrent cancellations, which all succeed', async () => {
  const { id } = await scheduleMessage();
  const answers = await Promise.all(Array.from({ length: 8 }, () => remove(id)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 204));
  expect(await api.db.event.count({ where: { accountId: account.id, type: 'message.failed' } })).toBe(1);
});

test('refuses to cancel a claimed message', async () => {
  const { id } = await scheduleMessage();
  const where = { messageId: uuidOf(id) };
  await api.db.outboxEntry.update({ where, data: { state: 'claimed', seq: 1n, head: true } });
  await api.db.message.updateMany({ where: { id: uuidOf(id) }, data: { status: 'sending' } });
  const answer = await remove(id);
  expect([answer.status, codeOf(answer)]).toEqual([409, 'message-sending']);
});

test('an edit repeats the quote and the mentions of the message', async () => {
  const quoted = await sendMessage();
  const mentions = ['5511999990000'];
  const { id } = await sendMessage(new Date(), { reply_to: quoted.id, mentions });
  await api.db.instanceLease.update({
    where: { instanceId: fromPublicId('instance', instance)! },
    data: { holder: crypto.randomUUID(), expiresAt: new Date(Date.now() + 60_000) },
  });
  const ask = jest.spyOn(LiveCommands.prototype, 'ask').mockResolvedValue({ ok: true } as never);
  expect((await edit(id)).status).toBe(200);
  const [, , sent] = ask.mock.lastCall!;
  ask.mockRestore();
  expect(sent).toMatchObject({
    ...{ kind: 'edit', text: 'novo', mentions: ['5511999990000@s.whatsapp.net'] },
    quoted: { from_me: true, type: 'text', text: 'oi' },
  });
});

test('refuses an If-Match of another version', async () => {
  const { id } = await sendMessage();
  const answer = await client.call('PATCH', `/v1/messages/${id}`, {
    body: { text: 'novo' },
    headers: { 'if-match': '"99"' },
  });
  expect([answer.status, codeOf(answer)]).toEqual([412, 'precondition-failed']);
});

test.each(['edit', 'remove'] as const)(
  '%s: a process that stops does not keep the message locked',
  async (name) => {
    const { id } = await sendMessage();
    const lease = { holder: crypto.randomUUID(), expiresAt: new Date(Date.now() + 60_000) };
    await api.db.instanceLease.update({
      where: { instanceId: fromPublicId('instance', instance)! },
      data: lease,
    });
    const ask = jest.spyOn(LiveCommands.prototype, 'ask').mockResolvedValue({ ok: true } as never);
    await api.db.$executeRawUnsafe(`
    CREATE FUNCTION require_limit() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF current_setting('idle_in_transaction_session_timeout') = '0' THEN
        RAISE 'a lock without a limit';
      END IF;
      RETURN NEW;
    END $$`);
    await api.db.$executeRawUnsafe(`
    CREATE TRIGGER require_limit BEFORE UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION require_limit()`);
    const { status } = await OPERATIONS[name](id);
    await api.db.$executeRawUnsafe('DROP FUNCTION require_limit CASCADE');
    ask.mockRestore();
    expect(status).toBe(name === 'edit' ? 200 : 204);
  },
);
