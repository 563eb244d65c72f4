import { createHash } from 'node:crypto';
import type { InboundMessage } from '@gwk/core/protocol/engine';
import type { OutboundContent } from '@gwk/core/resources/message';
import { numberStage, until, type NumberStage } from '../../../testing/number.js';

let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
});
afterAll(() => stage.close());

const VCARD = 'BEGIN:VCARD\nVERSION:3.0\nFN:Bia\nTEL;waid=5511900000009:+55 11 90000-0009\nEND:VCARD';
const text = (body: string) => ({ extendedTextMessage: { text: body } });

type Row = [string, Record<string, unknown>, Partial<InboundMessage>];

const ROWS: Row[] = [
  ['a text', { conversation: 'one' }, { type: 'text', text: 'one' }],
  [
    'a text with mentions, forwarded',
    {
      extendedTextMessage: {
        text: 'two',
        contextInfo: { mentionedJid: ['5511900000009@s.whatsapp.net'], isForwarded: true, stanzaId: '3EB0Q' },
      },
    },
    {
      type: 'text',
      text: 'two',
      mentions: ['5511900000009@s.whatsapp.net'],
      is_forwarded: true,
      quoted_wa_message_id: '3EB0Q',
    },
  ],
  [
    'what vanishes after a time',
    { ephemeralMessage: { message: text('three') } },
    { type: 'text', text: 'three' },
  ],
  ['what is seen once', { viewOnceMessageV2: { message: text('four') } }, { type: 'text', text: 'four' }],
  [
    'wrapper in wrapper',
    { ephemeralMessage: { message: { viewOnceMessage: { message: text('five') } } } },
    { type: 'text', text: 'five' },
  ],
  [
    'a place',
    { locationMessage: { degreesLatitude: -23.5, degreesLongitude: -46.6, name: 'Here', address: 'Rua 1' } },
    { type: 'location', location: { latitude: -23.5, longitude: -46.6, name: 'Here', address: 'Rua 1' } },
  ],
  [
    'a place that moves',
    { liveLocationMessage: { degreesLatitude: 1, degreesLongitude: 2 } },
    { type: 'location', location: { latitude: 1, longitude: 2 } },
  ],
  [
    'a contact',
    { contactMessage: { displayName: 'Bia', vcard: VCARD } },
    { type: 'contact', contacts: [{ name: 'Bia', phones: ['5511900000009'] }] },
  ],
  [
    'contacts',
    { contactsArrayMessage: { contacts: [{ displayName: 'Bia', vcard: VCARD }, { displayName: 'Nobody' }] } },
    {
      type: 'contact',
      contacts: [
        { name: 'Bia', phones: ['5511900000009'] },
        { name: 'Nobody', phones: [] },
      ],
    },
  ],
  ['a poll', { pollCreationMessageV3: { name: 'Which?', options: [] } }, { type: 'poll', text: 'Which?' }],
  ['what is not known here', { orderMessage: { orderId: '1' } }, { type: 'other', text: null }],
];

describe('what comes in is read:', () => {
  test.each(ROWS)('%s', async (_, content, expected) => {
    const { number, ana, phone } = stage;
    const id = await ana.writes(content, { to: phone.number });
    const message = await number.receives(id, ({ wa_message_id }) => wa_message_id === id);
    expect(message).toMatchObject({ ...expected, from_me: false, from_name: 'Ana' });
  });
});

const interactive = (format: 'native_flow' | 'legacy', isList: boolean): OutboundContent => ({
  type: 'interactive',
  interactive: {
    body: 'Which?',
    format,
    ...(isList
      ? { list: { button: 'Open', sections: [{ title: 'All', rows: [{ id: 'b', title: 'B' }] }] } }
      : { buttons: [{ type: 'reply' as const, label: 'B', id: 'b' }] }),
  },
});

describe('a click names its option and its menu:', () => {
  test.each([
    ['a native button', interactive('native_flow', false), 'native_flow'],
    ['a native list', interactive('native_flow', true), 'native_flow'],
    ['an older button', interactive('legacy', false), 'button'],
    ['an older list', interactive('legacy', true), 'list'],
  ])('%s', async (_, content, source) => {
    const { number, ana } = stage;
    const { id } = await number.send(number.message(ana.jid, content));
    const tap = await ana.taps(await ana.receives({ id }), 'b');
    const reply = await number.receives(tap, ({ wa_message_id }) => wa_message_id === tap);
    expect(reply.click).toEqual({ option_id: 'b', label: 'B', source, in_reply_to_wa_message_id: id });
    expect(reply).toMatchObject({ type: 'interactive', text: 'B' });
  });

  test('a template button', async () => {
    const { number, ana, phone } = stage;
    const content = {
      templateButtonReplyMessage: {
        selectedId: 'b',
        selectedDisplayText: 'B',
        contextInfo: { stanzaId: '3EB0MENU' },
      },
    };
    const id = await ana.writes(content, { to: phone.number });
    const reply = await number.receives(id, ({ wa_message_id }) => wa_message_id === id);
    expect(reply.click).toEqual({
      option_id: 'b',
      label: 'B',
      source: 'template_button',
      in_reply_to_wa_message_id: '3EB0MENU',
    });
  });
});

const hash = (label: string) => createHash('sha256').update(label).digest('hex');

test.each(['pn', 'lid'] as const)(
  'votes are read, and their withdrawal (voter known by %s)',
  async (addressing) => {
    const { number, ana } = stage;
    await ana.behaves({ addressing });
    const poll: OutboundContent = {
      type: 'poll',
      poll: {
        name: 'Which?',
        options: [
          { id: 'a', label: 'A' },
          { id: 'b', label: 'B' },
        ],
        selectable: 1,
      },
    };
    const { id } = await number.send(number.message(ana.jid, poll));
    const received = await ana.receives({ id });
    await ana.votes(received, ['B']);
    const votes = () => number.rows.inbound.filter(({ vote }) => vote?.poll_wa_message_id === id);
    await until('a vote', () => (votes().length === 1 ? true : undefined));
    await ana.votes(received, []);
    await until('its withdrawal', () => (votes().length === 2 ? true : undefined));
    expect(votes().map(({ vote }) => vote!.chosen)).toEqual([[hash('B')], []]);
    await ana.behaves({ addressing: 'pn' });
  },
);

describe('changes of what was written:', () => {
  test('an edit, a reaction, one taken back, a deletion', async () => {
    const { number, ana, phone } = stage;
    const to = { to: phone.number };
    const id = await ana.writes('first', to);
    await number.text('first');
    await ana.edits(id, 'second', to);
    await ana.reacts(id, '👍', to);
    await ana.reacts(id, '', to);
    await ana.revokes(id, to);
    const changes = () =>
      number.rows.inbound.flatMap(({ change }) => (change?.wa_message_id === id ? [change] : []));
    await until('four changes', () => (changes().length === 4 ? true : undefined));
    expect(changes()).toEqual([
      { kind: 'edit', wa_message_id: id, text: 'second' },
      { kind: 'reaction', wa_message_id: id, emoji: '👍' },
      { kind: 'reaction', wa_message_id: id, emoji: '' },
      { kind: 'delete', wa_message_id: id },
    ]);
  });
});

test('a contact known by a hidden id comes with the phone', async () => {
  const { number, network, phone } = stage;
  const bia = await network.contact('5511900000004', { name: 'Bia' });
  await bia.behaves({ addressing: 'lid' });
  await bia.writes('who am I?', { to: phone.number });
  const message = await number.text('who am I?');
  expect(message).toMatchObject({ chat: bia.lidJid, from: bia.lidJid, alt: bia.jid });
});

test('what is written on the phone itself comes as from the number', async () => {
  const { number, ana, phone } = stage;
  await phone.writesOnPhone(ana.number, 'from my phone');
  expect(await number.text('from my phone')).toMatchObject({
    from_me: true,
    from_name: null,
    from: phone.jid,
  });
});

test('a message of a group names the group and who wrote it', async () => {
  const { number, network, ana, phone } = stage;
  const group = await network.group('Friends', [phone, ana]);
  await ana.writes('hello all', { to: group });
  const message = await number.text('hello all');
  expect(message.chat).toBe(group);
  expect([message.from, message.alt]).toContain(ana.jid);
  const { id } = await number.sendText(group, 'hello group');
  expect((await ana.receives({ id })).text).toBe('hello group');
});

describe('a file that comes', () => {
  const bytes = Buffer.from('a picture '.repeat(5_000));

  test('is kept, checked by its hash', async () => {
    const { number, ana, phone } = stage;
    const id = await ana.writesFile('image', bytes, { to: phone.number, fields: { caption: 'look' } });
    const message = await number.receives(id, ({ wa_message_id }) => wa_message_id === id);
    expect(message).toMatchObject({
      type: 'image',
      text: 'look',
      media: { media_id: expect.any(String) as string },
    });
    expect(number.rows.kept.at(-1)!.bytes.equals(bytes)).toBe(true);
  });

  test('and is no longer on the network is asked of the phone again', async () => {
    const { number, ana, phone } = stage;
    const id = await ana.writesFile('document', bytes, { to: phone.number, expired: true });
    const message = await number.receives(id, ({ wa_message_id }) => wa_message_id === id);
    expect(message.media).toMatchObject({ media_id: expect.any(String) as string });
  });

  test('from an address of the sender is never fetched', async () => {
    const { number, ana, phone } = stage;
    const content = {
      imageMessage: {
        url: 'https://127.0.0.1:1/secret',
        directPath: '/secret',
        mediaKey: Buffer.alloc(32, 1).toString('base64'),
        fileSha256: Buffer.alloc(32, 1).toString('base64'),
        fileEncSha256: Buffer.alloc(32, 1).toString('base64'),
        fileLength: 5,
        mimetype: 'image/jpeg',
      },
    };
    const id = await ana.writes(content, { to: phone.number });
    const message = await number.receives(id, ({ wa_message_id }) => wa_message_id === id);
    expect(message.media).toHaveProperty('error');
  }, 60_000);
});

test('the network has nothing to complain of', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
