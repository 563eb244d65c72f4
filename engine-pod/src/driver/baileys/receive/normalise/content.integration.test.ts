import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { Content } from '@gwk/network/control/client';
import { numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
let group: string;
beforeAll(async () => {
  stage = await numberStage();
  group = await stage.network.group('Friends', [stage.phone, stage.ana]);
});
afterAll(() => stage.close());

const VCARD = 'BEGIN:VCARD\nVERSION:3.0\nFN:Bia\nTEL;waid=5511900000009:+55 11 90000-0009\nEND:VCARD';
const PLAIN_VCARD =
  'BEGIN:VCARD\r\nFN:Caio\r\nitem1.TEL;type=CELL:+55 (11) 90000-0010\r\nTEL:11 4000\r\nEND:VCARD';
const text = (body: string) => ({ extendedTextMessage: { text: body } });
const option = (label: string) => ({ optionName: label });
const flow = (paramsJson: string) => ({
  interactiveResponseMessage: {
    body: { text: 'Yes' },
    nativeFlowResponseMessage: { name: 'quick_reply', paramsJson },
    contextInfo: { stanzaId: '3EB0MENU' },
  },
});
const click = (source: string, label: string | null = 'Yes') =>
  ({ option_id: 'yes', label, source, in_reply_to_wa_message_id: '3EB0MENU' }) as never;
const context = { contextInfo: { stanzaId: '3EB0MENU' } };

/** The content of a message, for any author and chat. Fields that are not named are absent. */
type Said = Partial<Omit<InboundMessage, 'wa_message_id' | 'chat' | 'from' | 'at'>>;
type Row = [string, Content, Said];

const TEXTS: Row[] = [
  ['a text', { conversation: 'one' }, { type: 'text', text: 'one' }],
  ['a long text', text('x'.repeat(65_536)), { type: 'text', text: 'x'.repeat(65_536) }],
  [
    'a text with mentions',
    {
      extendedTextMessage: {
        text: '@5511900000009',
        contextInfo: { mentionedJid: ['5511900000009@s.whatsapp.net'] },
      },
    },
    { type: 'text', text: '@5511900000009', mentions: ['5511900000009@s.whatsapp.net'] },
  ],
  [
    'a text that mentions a LID',
    { extendedTextMessage: { text: '@77', contextInfo: { mentionedJid: ['77@lid'] } } },
    { type: 'text', text: '@77', mentions: ['77@lid'] },
  ],
  [
    'a forwarded text',
    { extendedTextMessage: { text: 'two', contextInfo: { isForwarded: true, forwardingScore: 3 } } },
    { type: 'text', text: 'two', is_forwarded: true },
  ],
  [
    'a quote',
    {
      extendedTextMessage: {
        text: 'yes',
        contextInfo: { stanzaId: '3EB0Q', quotedMessage: { conversation: 'ok?' } },
      },
    },
    { type: 'text', text: 'yes', quoted_wa_message_id: '3EB0Q' },
  ],
];

const IN_WRAPPERS: Row[] = [
  ['ephemeralMessage', { ephemeralMessage: { message: text('3') } }, { type: 'text', text: '3' }],
  [
    'viewOnceMessage',
    { viewOnceMessage: { message: text('4') } },
    { type: 'text', text: '4', is_view_once: true },
  ],
  [
    'viewOnceMessageV2',
    { viewOnceMessageV2: { message: text('5') } },
    { type: 'text', text: '5', is_view_once: true },
  ],
  [
    'viewOnceMessageV2Extension',
    { viewOnceMessageV2Extension: { message: text('6') } },
    { type: 'text', text: '6', is_view_once: true },
  ],
  [
    'documentWithCaptionMessage',
    { documentWithCaptionMessage: { message: text('7') } },
    { type: 'text', text: '7' },
  ],
  ['editedMessage', { editedMessage: { message: text('8') } }, { type: 'text', text: '8' }],
  [
    'associatedChildMessage',
    { associatedChildMessage: { message: text('11') } },
    { type: 'text', text: '11' },
  ],
  ['groupMentionedMessage', { groupMentionedMessage: { message: text('9') } }, { type: 'text', text: '9' }],
  [
    'nested wrappers',
    { ephemeralMessage: { message: { viewOnceMessage: { message: text('10') } } } },
    { type: 'text', text: '10', is_view_once: true },
  ],
];
const WRAPPED = IN_WRAPPERS.map(([name, content, said]): Row => [`in a wrapper: ${name}`, content, said]);

const THINGS: Row[] = [
  [
    'a location',
    { locationMessage: { degreesLatitude: -23.5, degreesLongitude: -46.6, name: 'Here', address: 'Rua 1' } },
    {
      type: 'location',
      text: null,
      location: { latitude: -23.5, longitude: -46.6, name: 'Here', address: 'Rua 1' },
    },
  ],
  [
    'a location without a name',
    { locationMessage: { degreesLatitude: 1, degreesLongitude: 2 } },
    { type: 'location', text: null, location: { latitude: 1, longitude: 2 } },
  ],
  [
    'a live location',
    { liveLocationMessage: { degreesLatitude: 1, degreesLongitude: 2, caption: 'on my way' } },
    { type: 'location', text: 'on my way', location: { latitude: 1, longitude: 2, is_live: true } },
  ],
  [
    'a contact',
    { contactMessage: { displayName: 'Bia', vcard: VCARD } },
    {
      type: 'contact',
      text: null,
      contacts: [{ name: 'Bia', phones: ['5511900000009'] }],
      details: {
        kind: 'contacts',
        cards: [{ name: 'Bia', numbers: [{ id: '5511900000009', number: '+55 11 90000-0009' }] }],
      },
    },
  ],
  [
    'contacts',
    {
      contactsArrayMessage: {
        contacts: [{ displayName: 'Caio', vcard: PLAIN_VCARD }, { displayName: 'Nobody' }],
      },
    },
    {
      type: 'contact',
      text: null,
      contacts: [
        { name: 'Caio', phones: ['5511900000010', '114000'] },
        { name: 'Nobody', phones: [] },
      ],
      details: {
        kind: 'contacts',
        cards: [
          {
            name: 'Caio',
            numbers: [{ label: 'cell', number: '+55 (11) 90000-0010' }, { number: '11 4000' }],
          },
          { name: 'Nobody' },
        ],
      },
    },
  ],
  [
    'a poll',
    { pollCreationMessage: { name: 'Which?', options: [option('A'), option('B')] } },
    { type: 'poll', text: 'Which?', details: { kind: 'poll', options: ['A', 'B'] } },
  ],
  ['a poll, version 2', { pollCreationMessageV2: { name: 'Which?' } }, { type: 'poll', text: 'Which?' }],
  ['a poll, version 3', { pollCreationMessageV3: { name: 'Which?' } }, { type: 'poll', text: 'Which?' }],
  [
    'an order',
    { orderMessage: { orderId: '1', message: 'Two, please', contextInfo: { isForwarded: true } } },
    {
      type: 'other',
      kind: 'order',
      text: 'Two, please',
      is_forwarded: true,
      details: { kind: 'order', order_id: '1' },
    },
  ],
];

const MENUS: Row[] = [
  [
    'buttons',
    { interactiveMessage: { body: { text: 'Which?' }, nativeFlowMessage: { buttons: [] } } },
    { type: 'interactive', text: 'Which?' },
  ],
  [
    'a template',
    { templateMessage: { hydratedTemplate: { hydratedContentText: 'Which?' } } },
    { type: 'interactive', text: 'Which?' },
  ],
  ['older buttons', { buttonsMessage: { contentText: 'Which?' } }, { type: 'interactive', text: 'Which?' }],
  ['an older list', { listMessage: { description: 'Which?' } }, { type: 'interactive', text: 'Which?' }],
  [
    'a click on a native button',
    flow('{"id":"yes"}'),
    { type: 'interactive', text: 'Yes', quoted_wa_message_id: '3EB0MENU', click: click('native_flow') },
  ],
  [
    'a click on a native list',
    flow('{"id":"yes","title":"Yes, please"}'),
    {
      type: 'interactive',
      text: 'Yes',
      quoted_wa_message_id: '3EB0MENU',
      click: click('native_flow', 'Yes, please'),
    },
  ],
  [
    'a click with malformed parameters',
    flow('{'),
    { type: 'interactive', text: 'Yes', quoted_wa_message_id: '3EB0MENU' },
  ],
  [
    'a click on a legacy button',
    { buttonsResponseMessage: { selectedButtonId: 'yes', selectedDisplayText: 'Yes', type: 1, ...context } },
    { type: 'interactive', text: 'Yes', quoted_wa_message_id: '3EB0MENU', click: click('button') },
  ],
  [
    'a click on a template button',
    { templateButtonReplyMessage: { selectedId: 'yes', selectedDisplayText: 'Yes', ...context } },
    { type: 'interactive', text: 'Yes', quoted_wa_message_id: '3EB0MENU', click: click('template_button') },
  ],
  [
    'a click on a legacy list',
    { listResponseMessage: { title: 'Yes', singleSelectReply: { selectedRowId: 'yes' }, ...context } },
    { type: 'interactive', text: 'Yes', quoted_wa_message_id: '3EB0MENU', click: click('list') },
  ],
];

const key = { remoteJid: 'x@s.whatsapp.net', fromMe: false, id: '3EB0OLD' };
const CHANGED: Row[] = [
  [
    'an edit',
    { protocolMessage: { key, type: 'MESSAGE_EDIT', editedMessage: text('now') } },
    { change: { kind: 'edit', wa_message_id: '3EB0OLD', text: 'now' } },
  ],
  [
    'an edit in a wrapper',
    {
      editedMessage: {
        message: { protocolMessage: { key, type: 'MESSAGE_EDIT', editedMessage: { conversation: 'now' } } },
      },
    },
    { change: { kind: 'edit', wa_message_id: '3EB0OLD', text: 'now' } },
  ],
  [
    'an edit of a caption',
    {
      protocolMessage: { key, type: 'MESSAGE_EDIT', editedMessage: { imageMessage: { caption: 'now' } } },
    },
    { change: { kind: 'edit', wa_message_id: '3EB0OLD', text: 'now' } },
  ],
  [
    'an edit of a document, with the card of the new one',
    {
      protocolMessage: {
        key,
        type: 'MESSAGE_EDIT',
        editedMessage: { documentMessage: { fileName: 'b.pdf', caption: 'now' } },
      },
    },
    {
      change: {
        kind: 'edit',
        wa_message_id: '3EB0OLD',
        text: 'now',
        card: expect.stringMatching(/./) as string,
      },
    },
  ],
  [
    'a deletion',
    { protocolMessage: { key, type: 'REVOKE' } },
    { change: { kind: 'delete', wa_message_id: '3EB0OLD' } },
  ],
  [
    'a reaction',
    { reactionMessage: { key, text: '👍' } },
    { change: { kind: 'reaction', wa_message_id: '3EB0OLD', emoji: '👍' } },
  ],
  [
    'a removed reaction',
    { reactionMessage: { key, text: '' } },
    { change: { kind: 'reaction', wa_message_id: '3EB0OLD', emoji: '' } },
  ],
];
const CHANGES = CHANGED.map(([name, content, said]): Row => [
  name,
  content,
  { type: 'other', text: null, ...said },
]);

const ROWS = [...TEXTS, ...WRAPPED, ...THINGS, ...MENUS, ...CHANGES];

interface Place {
  write: (content: Content) => Promise<string>;
  names: () => Partial<InboundMessage>;
}

const byAna = () => ({ from_me: false, from_name: 'Ana' });
const byUs = () => ({ from_me: true, from_name: null, from: stage.phone.jid });

const PLACES: [string, Place][] = [
  [
    'from a contact known by phone number',
    {
      write: (content) =>
        stage.ana.writes(content, { to: stage.phone.number, options: { addressing: 'pn' } }),
      names: () => ({ ...byAna(), chat: stage.ana.jid, from: stage.ana.jid, alt: stage.ana.lidJid }),
    },
  ],
  [
    'from a contact known by LID, with the phone number',
    {
      write: (content) =>
        stage.ana.writes(content, { to: stage.phone.number, options: { addressing: 'lid' } }),
      names: () => ({ ...byAna(), chat: stage.ana.lidJid, from: stage.ana.lidJid, alt: stage.ana.jid }),
    },
  ],
  [
    'from a group member known by LID',
    {
      write: (content) => stage.ana.writes(content, { to: group }),
      names: () => ({ ...byAna(), chat: group, from: stage.ana.lidJid, alt: stage.ana.jid }),
    },
  ],
  [
    'written on the own phone',
    {
      write: (content) => stage.phone.writesOnPhone(stage.ana.number, content),
      names: () => ({ ...byUs(), chat: stage.ana.lidJid, alt: stage.ana.jid }),
    },
  ],
];

describe.each(PLACES)('a message %s is parsed in full:', (_place, { write, names }) => {
  test.each(ROWS)('%s', async (_row, content, said) => {
    const before = Date.now();
    const id = await write(content);
    const { at, ...message } = await stage.number.gets(id);
    // quoted-card.test.ts covers the card, target-author.test.ts the author of the changed message.
    delete message.card;
    delete message.change?.author;
    expect(message).toEqual({ wa_message_id: id, quoted_wa_message_id: null, ...names(), ...said });
    // The network uses whole seconds.
    expect(Date.parse(at)).toBeGreaterThan(before - 1_000);
    expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
  });
});

test('a LID without a known phone number has no alt', async () => {
  const { number, network, phone } = stage;
  const bia = await network.contact('5511900000004', { name: 'Bia' });
  const attributes = { sender_pn: null as never };
  const id = await bia.writes('who am I?', { to: phone.number, options: { addressing: 'lid', attributes } });
  expect(await number.gets(id)).toMatchObject({ chat: bia.lidJid, from: bia.lidJid, alt: null });
});

test.each([
  ['a chat', () => stage.phone.number],
  ['a group', () => stage.network.group('Cards', [stage.phone, stage.ana])],
])('cards of %s come with their details', async (_, place) => {
  const to = await place();
  const { number, ana } = stage;
  const pin = await ana.writes({ pinInChatMessage: { key, type: 1 } }, { to });
  expect(await number.gets(pin)).toMatchObject({
    kind: 'pin',
    details: { kind: 'pin', wa_message_id: key.id },
  });
  const order = await ana.writes({ orderMessage: { orderId: '7', itemCount: 2, message: 'Cakes' } }, { to });
  const details = { kind: 'order', order_id: '7', item_count: 2 };
  expect(await number.gets(order)).toMatchObject({ kind: 'order', text: 'Cakes', details });
});

test('reports nothing about messages between apps', async () => {
  const { number, ana, phone } = stage;
  const silent: Content[] = [
    { albumMessage: { expectedImageCount: 2 } },
    { messageContextInfo: { messageSecret: Buffer.alloc(32, 1).toString('base64') } },
  ];
  const ids: string[] = [];
  for (const content of silent) ids.push(await ana.writes(content, { to: phone.number }));
  await ana.writes('after them', { to: phone.number });
  await number.text('after them');
  expect(number.rows.inbound.filter(({ wa_message_id }) => ids.includes(wa_message_id))).toEqual([]);
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
