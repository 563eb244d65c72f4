import type { MediaOut } from '@gwk/core/resources/media';
import type { MessageOut } from '@gwk/core/resources/message';
import { openNumber, type NumberStage } from './number-stage.js';
import { until } from '../support/wait.js';

/** Forms of messages and senders that few apps use, through real processes and the real protocol. */
let stage: NumberStage;
let group: string;
beforeAll(async () => {
  stage = await openNumber('forms');
  await stage.pair();
  group = await stage.network.group('Friends', [stage.phone, stage.ana]);
});

const client = () => stage.customer.client;
const CHATS: [string, () => string][] = [
  ['a chat', () => stage.phone.number],
  ['a group', () => group],
];

const received = (wa_message_id: string) =>
  until(
    async () =>
      (await stage.eventsOf('message.received')).find(({ data }) => data['wa_message_id'] === wa_message_id)
        ?.data,
    { what: `the event of ${wa_message_id}` },
  );

async function send(to: string, content: object): Promise<string> {
  const body = { instance_id: stage.id, to, ...content };
  const { id } = await client().expect<MessageOut>(202, 'POST', '/v1/messages', { body });
  const left = async () => (await client().message(id)).wa_message_id;
  return until(left, { what: 'the message has left' });
}

const text = (body: string) => ({ type: 'text', text: { body } });

describe.each(CHATS)('in %s', (_, to) => {
  test.each(['image', 'video'] as const)('both versions of a %s in HD arrive', async (kind) => {
    const [standard, hd] = [Buffer.from('small'), Buffer.from('the whole file')];
    const { id, hdId } = await stage.ana.writesPair(kind, standard, hd, { to: to() });
    expect(await received(id)).not.toHaveProperty('pair');
    const data = await received(hdId);
    expect(data).toMatchObject({
      type: kind,
      from: { phone: stage.ana.number },
      pair: { wa_message_id: id, kind: `hd_${kind}` },
    });
    const { media_id } = data['media'] as { media_id: string };
    const { url } = await client().expect<MediaOut>(200, 'GET', `/v1/media/${media_id}`);
    expect(await (await fetch(url!)).text()).toBe(hd.toString());
  });

  test.each(['pn', 'lid'] as const)(
    'a message of a business at the Cloud API by %s is one of the contact',
    async (addressing) => {
      const options = { hosted: true, addressing };
      const { ana } = stage;
      const plain = await received(await ana.writes('by the app', { to: to() }));
      const data = await received(await ana.writes('by the Cloud API', { to: to(), options }));
      expect([data['chat'], data['from']]).toEqual([plain['chat'], plain['from']]);
      expect(data).toMatchObject({ text: 'by the Cloud API', from: { phone: ana.number } });
    },
  );

  test('a device that a contact links later gets the next message', async () => {
    const chat = to() === group ? group : stage.ana.number;
    await send(chat, text('before'));
    const device = await stage.ana.linksDevice();
    await stage.network.call('waitTaken', { number: stage.phone.number });
    const id = await send(chat, text('after'));
    expect(await stage.ana.receives({ id, device })).toMatchObject({ fate: 'shown' });
  });

  test('a reply to an order shows its card, and a reply of the contact has its details', async () => {
    const { ana } = stage;
    const orderMessage = {
      orderId: 'o1',
      token: 'secret',
      orderTitle: 'Lunch',
      itemCount: 2,
      message: 'Please',
    };
    const order = await ana.writes({ orderMessage }, { to: to() });
    const { message_id, details } = await received(order);
    expect(details).toMatchObject({ kind: 'order', order_id: 'o1', item_count: 2 });
    const chat = to() === group ? group : ana.number;
    const id = await send(chat, { ...text('Thanks'), reply_to: message_id });
    const { message } = await ana.receives({ id });
    const { token, ...card } = orderMessage;
    expect(message).toMatchObject({
      extendedTextMessage: { contextInfo: { stanzaId: order, quotedMessage: { orderMessage: card } } },
    });
    expect(JSON.stringify(message)).not.toContain(token);
    const contextInfo = { stanzaId: order, participant: ana.jid, quotedMessage: { orderMessage } };
    const reply = await ana.writes({ extendedTextMessage: { text: 'And?', contextInfo } }, { to: to() });
    expect(await received(reply)).toMatchObject({
      quoted: { id: order, details: { kind: 'order', order_id: 'o1' } },
    });
  });
});
