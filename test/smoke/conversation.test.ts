import type { Page } from '@gwk/core/resources/common';
import type { EventOut } from '@gwk/api/resources/event';
import type { MessageOut } from '@gwk/core/resources/message';
import type { OptOutOut } from '@gwk/api/resources/opt-out';
import type { SandboxInboundOut } from '@gwk/api/resources/sandbox';
import type { ReceivedCall } from '../support/gateway/receiver.js';
import { openSharedStage, type SharedStage } from './shared-stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { report } from '../support/gateway/check-traffic.js';
import { until } from '../support/wait.js';

/** A conversation with a contact of a sandbox, through all processes and two API replicas. */
let stage: SharedStage;
beforeAll(async () => {
  stage = await openSharedStage('conversation');
});

const send = (to: string, content: Record<string, unknown>): Promise<MessageOut> =>
  stage.customer.client.expect(202, 'POST', '/v1/messages', {
    body: { instance_id: stage.instance.id, to, ...content },
  });
const left = ({ id }: MessageOut) =>
  until(
    async () => {
      const message = await stage.customer.client.message(id);
      return message.wa_message_id !== null && message;
    },
    { what: `${id} has left` },
  );
const receiveFrom = (from: string, body: Record<string, unknown>): Promise<SandboxInboundOut> =>
  stage.customer.clients[1]!.expect(200, 'POST', `/v1/instances/${stage.instance.id}/sandbox/inbound`, {
    body: { from, ...body },
  });
const delivered = ({ event_id }: SandboxInboundOut): Promise<ReceivedCall> =>
  until(async () => (await stage.receiver.calls(stage.path)).find(({ id }) => id === event_id), {
    what: `${event_id} is delivered`,
  });

test('recognises a number as the answer to buttons once, and then as an ordinary message', async () => {
  const to = testPhone(1);
  const buttons = [
    { type: 'reply', id: 'yes', label: 'Sim' },
    { type: 'reply', id: 'no', label: 'Não' },
  ];
  const menu = await left(await send(to, { type: 'interactive', interactive: { body: 'Vem?', buttons } }));
  const call = await delivered(await receiveFrom(to, { text: 'opção 2' }));
  expect(call).toMatchObject({ type: 'message.interactive_reply', verified: true });
  expect(call.data).toMatchObject({
    instance_id: stage.instance.id,
    chat: { phone: to, is_group: false },
    text: 'opção 2',
    reply: {
      option_id: 'no',
      label: 'Não',
      source: 'text',
      in_reply_to: menu.id,
      in_reply_to_wa_message_id: menu.wa_message_id,
    },
  });
  expect(await delivered(await receiveFrom(to, { text: '1' }))).toMatchObject({ type: 'message.received' });
});

test('recognises a click as the answer to a list, and a vote as the answer to a poll', async () => {
  const to = testPhone(2);
  const sections = [
    {
      title: 'Hoje',
      rows: [
        { id: 'r1', title: 'Manhã' },
        { id: 'r2', title: 'Tarde' },
      ],
    },
  ];
  const interactive = { body: 'Quando?', mode: 'native', list: { button: 'Ver', sections } };
  const list = await left(await send(to, { type: 'interactive', interactive }));
  const click = {
    option_id: 'r2',
    label: 'Tarde',
    source: 'list',
    in_reply_to_wa_message_id: list.wa_message_id,
  };
  const { data } = await delivered(await receiveFrom(to, { text: 'Tarde', reply: click }));
  expect(data['reply']).toMatchObject({ option_id: 'r2', source: 'list', in_reply_to: list.id });

  const options = [
    { id: 'a', label: 'Azul' },
    { id: 'b', label: 'Bege' },
  ];
  const poll = await left(await send(to, { type: 'poll', poll: { name: 'Cor?', options, selectable: 1 } }));
  const reply = {
    option_id: 'b',
    label: 'Bege',
    source: 'poll',
    in_reply_to_wa_message_id: poll.wa_message_id,
  };
  const vote = await delivered(await receiveFrom(to, { text: 'Bege', reply }));
  expect(vote.data['reply']).toMatchObject({ option_id: 'b', source: 'poll', in_reply_to: poll.id });
  const again = await delivered(await receiveFrom(to, { text: 'Bege', reply }));
  expect(again.data['reply']).toMatchObject({ option_id: 'b', vote_removed: true });
});

test('SAIR stops sends to the contact, VOLTAR allows them again', async () => {
  const { client } = stage.customer;
  const to = testPhone(3);
  await left(await send(to, { type: 'text', text: { body: 'oi' } }));
  const text = await receiveFrom(to, { text: 'sair' });
  expect((await delivered(text)).type).toBe('message.received');
  const deliveredEvent = (type: string) =>
    until(
      async () =>
        (await stage.receiver.calls(stage.path)).find(
          (call) => call.type === type && (call.data['contact'] as { phone?: string })?.phone === to,
        ),
      { what: `${type} is delivered` },
    );
  expect((await deliveredEvent('contact.opted_out')).data).toMatchObject({
    keyword: 'sair',
    message_id: text.message_id,
  });
  const refused = await client.sendText(stage.instance.id, to, 'outra');
  expect([refused.status, (refused.body as unknown as { type: string }).type]).toEqual([
    422,
    expect.stringMatching(/contact-opted-out$/) as string,
  ]);
  const { data } = await client.expect<Page<OptOutOut>>(200, 'GET', `/v1/opt-outs?phone=${to.slice(-6)}`);
  expect(data).toMatchObject([
    { phone: to, source: 'keyword', keyword: 'sair', instance_id: stage.instance.id },
  ]);
  await receiveFrom(to, { text: 'VOLTAR' });
  await deliveredEvent('contact.opted_in');
  await left(await send(to, { type: 'text', text: { body: 'de volta' } }));
  // Events of contacts are only in the list without a filter.
  const events = await client.expect<Page<EventOut>>(200, 'GET', '/v1/events?limit=200');
  const types = events.data.map(({ type }) => type);
  expect(types).toEqual(expect.arrayContaining(['contact.opted_out', 'contact.opted_in']));
});

test('500 parallel sends to new contacts through two API processes never exceed the limit', async () => {
  const { client, clients } = stage.customer;
  const path = `/v1/instances/${stage.instance.id}`;
  const before = new Set((await client.messages({ instance_id: stage.instance.id })).map(({ to }) => to))
    .size;
  const limit = before + 61;
  await client.expect(200, 'PATCH', path, {
    body: { policy: { new_contacts_per_day: limit, mass_block: { max_contacts: 10_000 } } },
  });
  const answers = await Promise.all(
    Array.from({ length: 500 }, (_, i) =>
      clients[i % 2]!.sendText(stage.instance.id, testPhone(1000 + i), `oferta ${i}`),
    ),
  );
  const accepted = answers.filter(({ status }) => status === 202);
  const refused = answers.filter(({ status }) => status !== 202);
  report('500 sends to new contacts', { limit: 61, accepted: accepted.length });
  expect(accepted).toHaveLength(61);
  for (const { status, headers, body } of refused) {
    expect(status).toBe(429);
    expect((body as unknown as { type: string }).type).toMatch(/policy-new-contacts-limit$/);
    expect(Number(headers['retry-after'])).toBeGreaterThan(86_000);
  }
});
