import { createHash } from 'node:crypto';
import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { EventOut } from '../resources/event.js';
import type { InstanceOut } from '../resources/instance.js';
import type { MessageOut } from '@gwk/core/resources/message';
import type { SandboxInboundOut } from '../resources/sandbox.js';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { sharedApi } from '@gwk/test/support/api/open-api';
import { sealMenu } from '../messages/content.js';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let sandbox: string;
beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  sandbox = await newInstance('sandbox');
});

const ANA = '5511987654321';
const newInstance = async (kind: string) => {
  const body = { name: newUuid(), kind };
  return (await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id;
};
const inboundPath = (instance: string) => `/v1/instances/${instance}/sandbox/inbound`;
const post = <T = SandboxInboundOut>(body: object, by = client, headers: Record<string, string> = {}) =>
  by.call<T>('POST', inboundPath(sandbox), { body: { from: ANA, text: 'oi', ...body }, headers });
const problemCode = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const readEvent = async ({ event_id }: SandboxInboundOut) =>
  (await client.call<EventOut>('GET', `/v1/events/${event_id}`)).body;
const toUuid = (id: string) => fromPublicId('instance', id)!;

test('receives a text like a real one: message, event and time of the last message', async () => {
  const { status, body } = await post({ text: 'bom dia', quoted_wa_message_id: '3EB0Q' });
  expect(status).toBe(200);
  expect(body).toEqual({
    message_id: expect.stringMatching(/^msg_[0-9a-f]{32}$/) as string,
    wa_message_id: expect.stringMatching(/^3A[0-9A-F]{18}$/) as string,
    event_id: expect.stringMatching(/^evt_[0-9a-f]{32}$/) as string,
    event_type: 'message.received',
  });
  const message = await client.call<MessageOut>('GET', `/v1/messages/${body.message_id}`);
  expect(message.body).toMatchObject({
    direction: 'inbound',
    to: ANA,
    type: 'text',
    status: 'delivered',
    wa_message_id: body.wa_message_id,
    error: null,
  });
  expect(await readEvent(body)).toMatchObject({
    type: 'message.received',
    instance_id: sandbox,
    data: {
      message_id: body.message_id,
      wa_message_id: body.wa_message_id,
      chat: { id: `${ANA}@s.whatsapp.net`, is_group: false, phone: ANA, username: null },
      from: { phone: ANA },
      from_me: false,
      type: 'text',
      text: 'bom dia',
      quoted_wa_message_id: '3EB0Q',
    },
  });
});

test('matches a phone number without the ninth digit to the same contact', async () => {
  const { body } = await post({ from: '551187654321' });
  expect((await client.call<MessageOut>('GET', `/v1/messages/${body.message_id}`)).body.to).toBe(ANA);
});

test('opts out by keyword, and returns the event of the message', async () => {
  const { body } = await post({ text: 'SAIR' });
  expect(body.event_type).toBe('message.received');
  const optOuts = await client.call<{ data: object[] }>('GET', '/v1/opt-outs');
  expect(optOuts.body.data).toEqual([
    {
      phone: ANA,
      contact_id: `${ANA}@s.whatsapp.net`,
      username: null,
      source: 'keyword',
      keyword: 'SAIR',
      instance_id: sandbox,
      scope: 'sandbox',
      created_at: expect.any(String) as string,
    },
  ]);
});

test.each(['connecting', 'disconnected', 'pending_pair', 'banned'])(
  'needs no engine: accepts for a sandbox that is %s',
  async (state) => {
    await api.db.instance.update({ where: { id: toUuid(sandbox) }, data: { state } });
    expect((await post({})).status).toBe(200);
  },
);

describe('replies to menus', () => {
  const menu = async (given: { kind?: string; selectable?: number | null } = {}) => {
    const { kind = 'interactive', selectable = null } = given;
    // The conversation exists once the contact has written.
    await post({});
    const conversation = await api.db.conversation.findFirstOrThrow({
      where: { instanceId: toUuid(sandbox) },
    });
    const [messageId, waMessageId] = [newUuid(), `3EB0${newUuid()}`];
    const options = [
      { id: 'a', label: 'Azul', number: kind === 'poll' ? null : 1 },
      { id: 'b', label: 'Bege', number: kind === 'poll' ? null : 2 },
    ];
    const sealed = sealMenu(new Sealer(parseEncryptionKeys(api.encryptionKeys)), toUuid(sandbox), {
      options,
      selectable,
    });
    await api.db.menu.create({
      data: {
        messageId,
        waMessageId,
        conversationId: conversation.id,
        instanceId: toUuid(sandbox),
        kind,
        mode: 'native+text',
        optionsSealed: new Uint8Array(sealed),
        sentAt: new Date(),
        deleteAt: new Date(Date.now() + 86_400_000),
      },
    });
    return { messageId: `msg_${messageId.replaceAll('-', '')}`, waMessageId };
  };
  const reply = async (body: SandboxInboundOut) => (await readEvent(body)).data['reply'];

  test.each(['native_flow', 'button', 'list'])('a click on a %s', async (source) => {
    const { messageId, waMessageId } = await menu();
    const click = { option_id: 'b', label: 'Bege', source, in_reply_to_wa_message_id: waMessageId };
    const { body } = await post({ text: 'Bege', reply: click });
    expect(body.event_type).toBe('message.interactive_reply');
    expect(await readEvent(body)).toMatchObject({ data: { type: 'interactive', text: 'Bege' } });
    expect(await reply(body)).toEqual({
      option_id: 'b',
      label: 'Bege',
      source,
      in_reply_to: messageId,
      in_reply_to_wa_message_id: waMessageId,
    });
  });

  test('a click without a menu answers the newest', async () => {
    const { messageId, waMessageId } = await menu();
    const { body } = await post({ text: 'Azul', reply: { option_id: 'a', source: 'button' } });
    expect(await reply(body)).toMatchObject({
      label: 'Azul',
      in_reply_to: messageId,
      in_reply_to_wa_message_id: waMessageId,
    });
  });

  test('a click on an unknown menu keeps the given values', async () => {
    const { body } = await post({
      text: 'Sim',
      reply: { option_id: 'y', label: 'Sim', source: 'list', in_reply_to_wa_message_id: '3EB0OLD' },
    });
    expect(await reply(body)).toEqual({
      option_id: 'y',
      label: 'Sim',
      source: 'list',
      in_reply_to: null,
      in_reply_to_wa_message_id: '3EB0OLD',
    });
  });

  test('a typed number', async () => {
    await menu();
    const { body } = await post({ text: '2' });
    expect([body.event_type, await reply(body)]).toMatchObject([
      'message.interactive_reply',
      { option_id: 'b', source: 'text' },
    ]);
  });

  test('a vote, and its withdrawal by the same vote again', async () => {
    const { waMessageId } = await menu({ kind: 'poll', selectable: 1 });
    const vote = async (option_id: string, named = true) => {
      const target = named ? { in_reply_to_wa_message_id: waMessageId } : {};
      const { body } = await post({
        text: 'Azul',
        reply: { option_id, label: 'Azul', source: 'poll', ...target },
      });
      return reply(body);
    };
    expect(await vote('a')).toMatchObject({ option_id: 'a', source: 'poll' });
    expect(await vote('a', false)).toMatchObject({ option_id: 'a', source: 'poll', vote_removed: true });
    expect(await vote('a')).not.toHaveProperty('vote_removed');
    // The vote moved, so the new option is returned.
    expect(await vote('b')).toMatchObject({ option_id: 'b' });
    expect(await vote('none')).toMatchObject({ option_id: 'none', source: 'poll' });
  });
});

test('a repeat with the same Idempotency-Key receives the message once', async () => {
  const headers = { 'idempotency-key': 'one' };
  const first = await post({}, client, headers);
  const again = await post({}, client, headers);
  expect(again.body).toEqual(first.body);
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(await api.db.message.count({ where: { instanceId: toUuid(sandbox) } })).toBe(1);
  expect(problemCode(await post({ text: 'outro' }, client, headers))).toBe('idempotency-key-reused');
});

test('a repeat of a request whose process died returns the same result', async () => {
  const first = await post({ text: 'SAIR' }, client, { 'idempotency-key': 'dead' });
  // Simulates an answer that was never stored.
  await api.db.idempotencyRecord.updateMany({
    where: { accountId: account.id },
    data: { status: null, responseSealed: null, lockedUntil: new Date(0) },
  });
  const again = await post({ text: 'SAIR' }, client, { 'idempotency-key': 'dead' });
  expect(again.body).toEqual(first.body);
  expect(await api.db.event.count({ where: { instanceId: toUuid(sandbox) } })).toBe(2);
});

describe('refusals', () => {
  test('a web instance: 409 not-sandbox', async () => {
    const web = await newInstance('web');
    const answer = await client.call('POST', inboundPath(web), { body: { from: ANA, text: 'oi' } });
    expect([answer.status, problemCode(answer)]).toEqual([409, 'not-sandbox']);
  });

  test('an instance of another account, invisible or deleted: 404', async () => {
    const foreign = await api.clientOf(await api.account());
    const restricted = await api.clientOf(account, { instances: [toUuid(await newInstance('web'))] });
    for (const by of [foreign, restricted]) {
      const answer = await post({}, by);
      expect([answer.status, problemCode(answer)]).toEqual([404, 'not-found']);
    }
    const deleted = await client.call('DELETE', `/v1/instances/${sandbox}`);
    expect(deleted.status).toBe(204);
    expect((await post({})).status).toBe(404);
  });

  test('a key without messages:send: 403 insufficient-scope', async () => {
    const reader = await api.clientOf(account, { scopes: ['messages:read', 'instances:write'] });
    const answer = await post({}, reader);
    expect([answer.status, problemCode(answer)]).toEqual([403, 'insufficient-scope']);
  });

  test.each(['+5511987654321', '1234567', '1234567890123456', 'ana', '5511987654321@s.whatsapp.net', ''])(
    'from %s: invalid-phone',
    async (from) => {
      const answer = await post({ from });
      expect([answer.status, problemCode(answer)]).toEqual([422, 'invalid-phone']);
    },
  );

  test.each<[string, object, string]>([
    ['no text', { text: undefined }, 'text'],
    ['an empty text', { text: '' }, 'text'],
    ['a text of 65,537 characters', { text: 'a'.repeat(65_537) }, 'text'],
    ['no from', { from: undefined }, 'from'],
    ['an unknown source', { reply: { option_id: 'a', source: 'text' } }, 'reply.source'],
    ['a reply without an option', { reply: { source: 'list' } }, 'reply.option_id'],
    ['an unknown field', { to: ANA }, 'to'],
  ])('%s: validation-error', async (_, body, path) => {
    const answer = await post<{ errors: { path: string }[] }>(body);
    expect([answer.status, problemCode(answer)]).toEqual([422, 'validation-error']);
    expect(answer.body.errors.map((error) => error.path)).toEqual([path]);
  });

  test('accepts a text of 65,536 characters', async () => {
    expect((await post({ text: '😀'.repeat(65_536) })).status).toBe(200);
  });
});

test('stores no received text unencrypted', async () => {
  const marker = createHash('sha256').update(newUuid()).digest('hex');
  await post({ text: marker });
  const tables = await api.db.$queryRaw<{ found: bigint }[]>`
    SELECT count(*) AS found FROM messages m WHERE m::text LIKE ${`%${marker}%`}
    UNION ALL SELECT count(*) FROM events e WHERE e::text LIKE ${`%${marker}%`}
    UNION ALL SELECT count(*) FROM contacts c WHERE c::text LIKE ${`%${marker}%`}
    UNION ALL SELECT count(*) FROM inbound_seen s WHERE s::text LIKE ${`%${marker}%`}`;
  expect(tables.map(({ found }) => Number(found))).toEqual([0, 0, 0, 0]);
});
