import type { EventOut } from '@gwk/api/resources/event';
import type { MessageOut } from '@gwk/core/resources/message';
import type { Stanza } from '../support/gateway/network.js';
import { openSharedStage, type SharedStage } from './shared-stage.js';
import { toChatId, testPhone } from '../support/gateway/traffic.js';
import { until } from '../support/wait.js';

const FRIEND = testPhone(700);
const NEVER_READ = '5511990000001';
const codeOf = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);

describe('messages of every type', () => {
  let stage: SharedStage;
  beforeAll(async () => {
    stage = await openSharedStage('messages');
  });

  const post = (type: string, content: object, more: object = {}) =>
    stage.customer.client.call<MessageOut>('POST', '/v1/messages', {
      body: { instance_id: stage.instance.id, to: FRIEND, type, [type]: content, ...more },
    });
  const untilStatus = (id: string, ...statuses: string[]) =>
    until(
      async () => {
        const message = await stage.customer.client.message(id);
        return statuses.includes(message.status) && message;
      },
      { what: `${id} is ${statuses.join(' or ')}` },
    );
  /** Sends a message and waits until it has left. Returns it and its stanza as the network saw it. */
  async function sent(
    type: string,
    content: object,
    more: object = {},
  ): Promise<{ message: MessageOut; rendered: Record<string, unknown> }> {
    const { body } = await post(type, content, more);
    const message = await untilStatus(body.id, 'sent', 'delivered', 'read');
    return { message, rendered: renderedIn(await stanzaOf(message.wa_message_id!)) };
  }
  const stanzaOf = async (waMessageId: string): Promise<Stanza> =>
    (await stage.network.stanzasOf(stage.instance.id)).find((stanza) => stanza.waMessageId === waMessageId)!;
  const renderedIn = ({ bytes }: Stanza) => JSON.parse(bytes) as Record<string, unknown>;
  /** Edits, deletions and reactions are messages of their own on the network. */
  const changes = async (kind: string) =>
    (await stage.network.stanzasOf(stage.instance.id)).map(renderedIn).filter(({ type }) => type === kind);
  const eventsOf = async (type: string, messageId: string): Promise<EventOut[]> =>
    (await stage.customer.client.events({ type })).filter(({ data }) => data['message_id'] === messageId);
  const change = (method: string, id: string, body?: object) =>
    stage.customer.client.call<MessageOut>(
      method,
      method === 'POST' ? `/v1/messages/${id}/reactions` : `/v1/messages/${id}`,
      body === undefined ? {} : { body },
    );

  const buttons = [
    { type: 'reply', label: 'Sim', id: 'yes' },
    { type: 'url', label: 'Site', url: 'https://example.org/a' },
    { type: 'reply', label: 'Não', id: 'no' },
  ];
  const list = { button: 'Ver', sections: [{ title: 'Doces', rows: [{ id: 'b', title: 'Bolo' }] }] };

  test('sends location, contact and poll unchanged', async () => {
    const location = { latitude: -23.55, longitude: -46.63, name: 'Praça' };
    expect((await sent('location', location)).rendered).toEqual({ type: 'location', location });
    const contact = { name: 'Ana', phones: ['+5511987654321'], organization: 'Loja' };
    expect((await sent('contact', contact)).rendered).toEqual({ type: 'contact', contact });
    const options = ['Azul', 'Verde'].map((label, n) => ({ id: `o${n}`, label }));
    const { rendered, message } = await sent('poll', { name: 'Cor?', options });
    expect(rendered).toEqual({ type: 'poll', poll: { name: 'Cor?', options, selectable: 1 } });
    expect(message.rendered_as).toBeNull();
  });

  test.each<[string, object, string, object]>([
    [
      'buttons in the mode of the instance: native and numbered in the text',
      { body: 'Quer?', buttons },
      'native_flow_buttons',
      { interactive: { body: 'Quer?\n\n1. Sim\n2. Não', buttons } },
    ],
    [
      'buttons in mode native',
      { body: 'Quer?', footer: 'Loja', buttons, mode: 'native' },
      'native_flow_buttons',
      { interactive: { body: 'Quer?', footer: 'Loja', buttons } },
    ],
    [
      'buttons in the legacy format',
      { body: 'Quer?', buttons, mode: 'native', format: 'legacy' },
      'legacy_buttons',
      { interactive: { body: 'Quer?', buttons } },
    ],
    [
      'a list in the legacy format',
      { body: 'Quer?', list, mode: 'native', format: 'legacy' },
      'legacy_list',
      { interactive: { body: 'Quer?', list } },
    ],
    [
      'a list in mode native+text',
      { body: 'Quer?', list, mode: 'native+text', format: 'native_flow' },
      'native_flow_list',
      { interactive: { body: 'Quer?\n\n*Doces*\n1. Bolo', list } },
    ],
    [
      'buttons in mode text, written as text',
      { body: 'Quer?', footer: 'Loja', buttons, mode: 'text' },
      'text_menu',
      { text: { body: 'Quer?\n\n1. Sim\nSite: https://example.org/a\n2. Não\n\nLoja' } },
    ],
  ])('renders %s', async (_, content, renderedAs, expected) => {
    const { message, rendered } = await sent('interactive', content);
    expect(rendered).toEqual({ type: 'interactive', ...expected });
    expect(message.rendered_as).toBe(renderedAs);
    const [event] = await eventsOf('message.sent', message.id);
    expect(event!.data['rendered_as']).toBe(renderedAs);
  });

  test('builds a quote from the stored message, with mentions', async () => {
    const first = await sent('text', { body: 'Primeira' });
    const mentions = ['5511987650000'];
    const { rendered } = await sent('text', { body: 'Segunda' }, { reply_to: first.message.id, mentions });
    expect(rendered).toMatchObject({
      quoted: {
        wa_message_id: first.message.wa_message_id,
        chat: toChatId(FRIEND),
        from_me: true,
        participant: null,
        type: 'text',
        text: 'Primeira',
      },
      mentions: ['5511987650000@s.whatsapp.net'],
    });
    const unknown = await post('text', { body: 'x' }, { reply_to: `msg_${'0'.repeat(32)}` });
    expect([unknown.status, codeOf(unknown)]).toEqual([422, 'invalid-reply-to']);
  });

  test('edits a text on the network, in the record, in an event and in quotes of it', async () => {
    const { message } = await sent('text', { body: 'Olá' });
    const edited = await change('PATCH', message.id, { text: 'Olá!' });
    expect([edited.status, edited.body.id]).toEqual([200, message.id]);
    expect(edited.headers.etag).not.toBe(undefined);
    const key = {
      chat: toChatId(FRIEND),
      wa_message_id: message.wa_message_id,
      from_me: true,
      participant: null,
    };
    expect(await changes('edit')).toContainEqual({ type: 'edit', key, text: { body: 'Olá!' } });
    const [event] = await eventsOf('message.edited', message.id);
    expect(event!.data).toMatchObject({
      text: 'Olá!',
      from_me: true,
      wa_message_id: message.wa_message_id,
      chat: { phone: FRIEND },
    });
    const { rendered } = await sent('text', { body: 'Segunda' }, { reply_to: message.id });
    expect(rendered['quoted']).toMatchObject({ text: 'Olá!' });
  });

  test('If-Match rejects an edit of a changed message', async () => {
    const { message } = await sent('text', { body: 'Olá' }, { to: NEVER_READ });
    await untilStatus(message.id, 'delivered');
    const { headers } = await stage.customer.client.call('GET', `/v1/messages/${message.id}`);
    const edit = (tag: string) =>
      stage.customer.client.call('PATCH', `/v1/messages/${message.id}`, {
        body: { text: 'x' },
        headers: { 'if-match': tag },
      });
    expect((await edit(headers.etag!)).status).toBe(200);
    const stale = await edit(headers.etag!);
    expect([stale.status, codeOf(stale)]).toEqual([412, 'precondition-failed']);
  });

  test('deletes a message for everyone once, and keeps its record and status', async () => {
    const { message } = await sent('text', { body: 'Olá' }, { to: NEVER_READ });
    await untilStatus(message.id, 'delivered');
    expect((await change('DELETE', message.id)).status).toBe(204);
    expect((await change('DELETE', message.id)).status).toBe(204);
    expect((await stage.customer.client.message(message.id)).status).toBe('delivered');
    expect(await eventsOf('message.deleted', message.id)).toHaveLength(1);
    const deletions = (await changes('delete')).map(
      ({ key }) => (key as { wa_message_id: string }).wa_message_id,
    );
    expect(deletions.filter((id) => id === message.wa_message_id)).toHaveLength(1);
    const again = await change('PATCH', message.id, { text: 'x' });
    expect([again.status, codeOf(again)]).toEqual([409, 'not-editable']);
  });

  test('adds and removes a reaction once per key', async () => {
    const { message } = await sent('text', { body: 'Olá' });
    const react = (emoji: string) =>
      stage.customer.client.call('POST', `/v1/messages/${message.id}/reactions`, {
        body: { emoji },
        headers: { 'idempotency-key': `${message.id} ${emoji.length}` },
      });
    expect([(await react('👍')).status, (await react('👍')).status]).toEqual([204, 204]);
    expect((await react('')).status).toBe(204);
    const emojis = (await eventsOf('message.reaction', message.id)).map(({ data }) => data['emoji']);
    expect(emojis).toEqual(['', '👍']);
    const none = await change('POST', message.id, { emoji: 'bom' });
    expect([none.status, codeOf(none)]).toEqual([422, 'validation-error']);
  });

  test('a changed pacing applies at once, also to queued messages', async () => {
    const { client } = stage.customer;
    const { id } = await client.connectedInstance('pacing');
    const pace = (messages_per_minute: number) =>
      client.expect(200, 'PATCH', `/v1/instances/${id}`, { body: { policy: { messages_per_minute } } });
    const queued = async () => (await client.messages({ instance_id: id, status: 'queued' })).length;
    await pace(1);
    // At one per minute the last message would leave an hour later, far beyond any timeout.
    await Promise.all(
      Array.from({ length: 60 }, (_, n) => client.acceptedText(id, testPhone(710 + n), 'oi')),
    );
    await until(async () => (await queued()) < 60, { what: 'one message has left' });
    await pace(6000);
    await until(async () => (await queued()) === 0, { what: 'all messages have left' });
  });

  test('uses the interactive mode that the instance has when the message leaves', async () => {
    const { client } = stage.customer;
    const setMode = (interactive_mode: string) =>
      client.expect(200, 'PATCH', `/v1/instances/${stage.instance.id}`, { body: { interactive_mode } });
    await setMode('text');
    const { message } = await sent('interactive', { body: 'Quer?', buttons });
    await setMode('native+text');
    expect(message.rendered_as).toBe('text_menu');
  });

  describe('an inbound message', () => {
    type ReceivedMessage = Record<'message_id' | 'wa_message_id', string>;
    const receiveFrom = (from: string, text: string) =>
      stage.customer.client.expect<ReceivedMessage>(
        200,
        'POST',
        `/v1/instances/${stage.instance.id}/sandbox/inbound`,
        { body: { from, text } },
      );

    test('accepts reactions and quotes, and rejects edits and deletions', async () => {
      const { message_id: id, wa_message_id } = await receiveFrom(FRIEND, 'Quanto é?');
      expect((await change('POST', id, { emoji: '❤️' })).status).toBe(204);
      const key = { chat: toChatId(FRIEND), wa_message_id, from_me: false, participant: null };
      expect(await changes('react')).toContainEqual({ type: 'react', key, emoji: '❤️' });
      const [event] = await eventsOf('message.reaction', id);
      expect(event!.data).toMatchObject({ emoji: '❤️', from_me: true, wa_message_id });
      const { rendered } = await sent('text', { body: 'Dez' }, { reply_to: id });
      expect(rendered['quoted']).toMatchObject({ wa_message_id, from_me: false, text: 'Quanto é?' });
      const answers = [await change('PATCH', id, { text: 'x' }), await change('DELETE', id)];
      expect(answers.map(({ status }) => status)).toEqual([409, 409]);
      expect(answers.map(codeOf)).toEqual(['not-editable', 'not-editable']);
    });

    test('a reaction that the network refuses may be retried', async () => {
      const { message_id: id } = await receiveFrom('5511988880002', 'Oi');
      const answer = await stage.customer.client.call('POST', `/v1/messages/${id}/reactions`, {
        body: { emoji: '👍' },
        patient: false,
      });
      expect([answer.status, codeOf(answer)]).toEqual([503, 'engine-unavailable']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(await eventsOf('message.reaction', id)).toEqual([]);
    });
  });

  test('rejects an edit of a message that is no text', async () => {
    const { message } = await sent('contact', { name: 'Ana', phones: ['5511987654321'] });
    const answer = await change('PATCH', message.id, { text: 'x' });
    expect([answer.status, codeOf(answer)]).toEqual([409, 'not-editable']);
  });

  test('rejects edits, reactions and deletions of a queued or sending message', async () => {
    const to = testPhone(701);
    await stage.network.setRule({ hold: true }, toChatId(to), stage.instance.id);
    const leaving = (await post('text', { body: 'a' }, { to })).body;
    const waiting = (await post('text', { body: 'b' }, { to })).body;
    await untilStatus(leaving.id, 'sending');
    await untilStatus(waiting.id, 'queued');
    for (const [id, deletion] of [
      [leaving.id, 'message-sending'],
      [waiting.id, 'message-not-sent'],
    ] as const) {
      const answers = [
        await change('PATCH', id, { text: 'x' }),
        await change('POST', id, { emoji: '👍' }),
        await change('DELETE', id),
      ];
      expect(answers.map(codeOf)).toEqual(['message-not-sent', 'message-not-sent', deletion]);
      expect(answers.map(({ status }) => status)).toEqual([409, 409, 409]);
    }
    await stage.network.setRule({}, toChatId(to), stage.instance.id);
    await untilStatus(waiting.id, 'sent', 'delivered', 'read');
  });

  test.each([
    ['0000', 'recipient_not_on_whatsapp'],
    ['0002', 'wa_error'],
  ])(
    'a phone number ending in %s fails with %s, and the message can be neither edited nor deleted',
    async (end, code) => {
      const { body } = await post('text', { body: 'x' }, { to: `551199888${end}` });
      const failed = await untilStatus(body.id, 'failed');
      expect(failed.error!.code).toBe(code);
      const [event] = await eventsOf('message.failed', body.id);
      expect((event!.data['error'] as { code: string }).code).toBe(code);
      const answers = [await change('PATCH', body.id, { text: 'x' }), await change('DELETE', body.id)];
      expect(answers.map(codeOf)).toEqual(['message-not-sent', 'message-not-sent']);
    },
  );
});
