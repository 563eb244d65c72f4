import { proto } from '@whiskeysockets/baileys';
import { Details, DETAILS_FIELDS } from '@gwk/core/resources/details';
import { MAX_DETAILS } from '@gwk/core/resources/details-values';
import { cost } from '@gwk/test/support/hostile-texts';
import { parseContent } from './content.js';
import { unwrapMessage } from './unwrap.js';

const CHAT = '5511900000002@s.whatsapp.net';
const place = { chat: CHAT, alt: null, own: { jid: '5511900000001@s.whatsapp.net', lid: '1@lid' } };

/** Encoded and decoded, as the network delivers it. */
function parse(message: proto.IMessage) {
  const bytes = proto.Message.encode(proto.Message.fromObject(message)).finish();
  return parseContent(unwrapMessage(proto.Message.decode(bytes)), place);
}

const key = { remoteJid: CHAT, fromMe: true, id: '3EB0T' };
const poll = {
  name: 'Which?',
  options: [{ optionName: 'a' }, { optionName: 'b' }],
  selectableOptionsCount: 1,
};
const button = (id: string, label: string) => ({ name: 'quick_reply', buttonParamsJson: JSON.stringify({ id, display_text: label }) }); // prettier-ignore
const AT = 1_800_000_000;
const TIME = new Date(AT * 1_000).toISOString();

test.each<[string, proto.IMessage, object]>([
  [
    'an order',
    { orderMessage: { orderId: '7', token: 't==', itemCount: 2, totalAmount1000: 19_990, totalCurrencyCode: 'BRL', orderTitle: 'Shop', sellerJid: CHAT } },
    { kind: 'order', order_id: '7', token: 't==', title: 'Shop', item_count: 2, total: 19.99, currency: 'BRL', seller: CHAT },
  ],
  [
    'a product',
    { productMessage: { businessOwnerJid: CHAT, product: { productId: '9', retailerId: 'SKU', title: 'Cake', currencyCode: 'BRL', priceAmount1000: 5_500, productImageCount: 3, url: 'https://example.com/9' } } },
    { kind: 'product', product_id: '9', retailer_id: 'SKU', title: 'Cake', price: 5.5, currency: 'BRL', image_count: 3, url: 'https://example.com/9', seller: CHAT },
  ],
  ['a catalog', { productMessage: { catalog: { title: 'All', description: 'cakes' }, businessOwnerJid: CHAT } }, { kind: 'catalog', title: 'All', description: 'cakes', seller: CHAT }],
  [
    'a list of products',
    { listMessage: { title: 'All', listType: 2, productListInfo: { businessOwnerJid: CHAT, productSections: [{ title: 'Cakes', products: [{ productId: '9' }] }] } } },
    { kind: 'catalog', title: 'All', seller: CHAT, sections: [{ title: 'Cakes', product_ids: ['9'] }] },
  ],
  [
    'a list',
    { listMessage: { title: 'Menu', buttonText: 'Open', footerText: 'f', sections: [{ title: 'S', rows: [{ rowId: '1', title: 'One', description: 'd' }] }] } },
    { kind: 'list', title: 'Menu', button: 'Open', footer: 'f', sections: [{ title: 'S', rows: [{ id: '1', title: 'One', description: 'd' }] }] },
  ],
  [
    'a menu',
    { interactiveMessage: { body: { text: 'Well?' }, footer: { text: 'f' }, nativeFlowMessage: { buttons: [button('y', 'Yes'), { name: 'x', buttonParamsJson: '{' }] } } },
    { kind: 'menu', footer: 'f', options: [{ id: 'y', label: 'Yes' }] },
  ],
  ['buttons', { buttonsMessage: { contentText: 'Well?', buttons: [{ buttonId: 'y', buttonText: { displayText: 'Yes' } }] } }, { kind: 'menu', options: [{ id: 'y', label: 'Yes' }] }],
  ['a template', { templateMessage: { hydratedTemplate: { hydratedContentText: 'Hi', hydratedButtons: [{ quickReplyButton: { id: 'y', displayText: 'Yes' } }] } } }, { kind: 'menu', options: [{ id: 'y', label: 'Yes' }] }],
  ['a poll', { pollCreationMessageV3: poll }, { kind: 'poll', options: ['a', 'b'], selectable: 1 }],
  [
    'an event',
    { eventMessage: { name: 'Party', description: 'd', startTime: AT, endTime: AT, joinLink: 'https://call.whatsapp.com/x', isCanceled: true, location: { name: 'Home', degreesLatitude: 1, degreesLongitude: 2 } } },
    { kind: 'event', description: 'd', starts_at: TIME, ends_at: TIME, link: 'https://call.whatsapp.com/x', canceled: true, place: { name: 'Home', latitude: 1, longitude: 2 } },
  ],
  ['an invitation', { groupInviteMessage: { groupJid: '1@g.us', inviteCode: 'abc', inviteExpiration: AT, groupName: 'Team' } }, { kind: 'invitation', id: '1@g.us', code: 'abc', name: 'Team', expires_at: TIME }],
  ['an invitation without an end', { groupInviteMessage: { groupJid: '1@g.us', inviteExpiration: '9223372036854775807' as unknown as number } }, { kind: 'invitation', id: '1@g.us' }],
  ['a comment', { commentMessage: { message: { conversation: 'nice' }, targetMessageKey: key } }, { kind: 'comment', wa_message_id: '3EB0T' }],
  ['a form', { interactiveResponseMessage: { body: { text: 'Sent' }, nativeFlowResponseMessage: { name: 'flow', paramsJson: '{"name":"Ana","age":3,"tags":["a"],"ok":true,"none":null}' } } }, { kind: 'form', name: 'flow', answers: { name: 'Ana', age: 3, tags: ['a'], ok: true } }],
  ['a payment request', { requestPaymentMessage: { amount1000: 1_500, currencyCodeIso4217: 'BRL', requestFrom: CHAT, expiryTimestamp: AT } }, { kind: 'payment_request', amount: 1.5, currency: 'BRL', from: CHAT, expires_at: TIME }],
  ['a location', { locationMessage: { degreesLatitude: 1, degreesLongitude: 2, url: 'https://example.com', comment: 'here', accuracyInMeters: 5 } }, { kind: 'location', url: 'https://example.com', comment: 'here', accuracy_m: 5 }],
  ['a live location', { liveLocationMessage: { degreesLatitude: 1, degreesLongitude: 2, sequenceNumber: 4 } }, { kind: 'location', sequence: 4 }],
  ['a contact', { contactMessage: { displayName: 'Ana', vcard: 'BEGIN:VCARD\nFN:A\nTEL;TYPE=WORK:11 4000\nEND:VCARD' } }, { kind: 'contacts', cards: [{ name: 'Ana', numbers: [{ number: '11 4000', label: 'work' }] }] }],
  ['a pin', { pinInChatMessage: { key, type: 1 } }, { kind: 'pin', wa_message_id: '3EB0T' }],
  ['a removed pin', { pinInChatMessage: { key, type: 2 } }, { kind: 'pin', wa_message_id: '3EB0T', removed: true }],
  ['a kept message', { keepInChatMessage: { key, keepType: 1 } }, { kind: 'keep', wa_message_id: '3EB0T' }],
  ['a round film', { ptvMessage: { mimetype: 'video/mp4' } }, { kind: 'video', round: true }],
])('%s has its details, received and quoted', (_, message, details) => {
  expect(Details.parse(parse(message)!.details)).toEqual(details);
  const contextInfo = { stanzaId: 'Q', quotedMessage: message };
  const answer = parse({ extendedTextMessage: { text: 'this', contextInfo } })!;
  expect(answer.quoted).toEqual({ details });
}); // prettier-ignore

test('every kind is tried above', () => {
  const kinds = ['order', 'product', 'catalog', 'list', 'menu', 'poll', 'event', 'invitation', 'comment', 'form', 'payment_request', 'location', 'contacts', 'pin', 'keep', 'video']; // prettier-ignore
  expect(Object.keys(DETAILS_FIELDS)).toEqual(kinds);
});

test.each<[string, proto.IMessage]>([
  ['a text', { conversation: 'x' }],
  ['a click', { interactiveResponseMessage: { nativeFlowResponseMessage: { paramsJson: '{"id":"y"}' } } }],
  [
    'answers that are no object',
    { interactiveResponseMessage: { nativeFlowResponseMessage: { paramsJson: '[1' } } },
  ],
  ['an empty order', { orderMessage: {} }],
])('%s has none', (_, message) => {
  expect(parse(message)).not.toHaveProperty('details');
});

test('cuts what is too long, and says so', () => {
  const options = Array.from({ length: 5_000 }, () => ({ optionName: 'x'.repeat(1_000) }));
  const content = parse({ pollCreationMessage: { name: 'Which?', options } })!;
  const { options: kept } = Details.parse(content.details) as unknown as { options: string[] };
  expect(kept.join('').length).toBeLessThanOrEqual(MAX_DETAILS);
  expect(content.is_truncated).toBe(true);
  const deep = '{"a":'.repeat(5_000) + '1' + '}'.repeat(5_000);
  const form = { interactiveResponseMessage: { nativeFlowResponseMessage: { name: 'n', paramsJson: deep } } };
  expect(cost(() => expect(Details.parse(parse(form)!.details)).toMatchObject({ name: 'n' }))).toBeLessThan(
    200,
  );
});

describe('an edit', () => {
  const edit = (editedMessage: proto.IMessage) =>
    parse({ protocolMessage: { key, type: proto.Message.ProtocolMessage.Type.MESSAGE_EDIT, editedMessage } });

  test.each<[string, proto.IMessage, string]>([
    ['a poll', { pollCreationMessageV3: poll }, 'Which?'],
    ['a menu', { interactiveMessage: { body: { text: 'Well?' } } }, 'Well?'],
    ['a list', { listMessage: { description: 'Choose' } }, 'Choose'],
    ['an event', { eventMessage: { name: 'Party' } }, 'Party'],
    ['an order', { orderMessage: { message: 'My order' } }, 'My order'],
    ['a round film', { ptvMessage: { caption: 'look' } }, 'look'],
    ['a picture', { imageMessage: { caption: 'look' } }, 'look'],
  ])('of %s has its new words', (_, message, text) => {
    expect(edit(message)!.change).toMatchObject({ kind: 'edit', wa_message_id: '3EB0T', text });
  });

  test('has the new options of a poll', () => {
    expect(edit({ pollCreationMessageV3: poll })!.change).toMatchObject({ details: { options: ['a', 'b'] } });
  });

  test('without words replaces none', () => {
    expect(edit({ ptvMessage: { mimetype: 'video/mp4' } })).toBeNull();
    expect(edit({ orderMessage: {} })).toBeNull();
  });
});

test.each([
  [1, { album_id: 'P' }],
  [5, { pair: { wa_message_id: 'P', kind: 'hd_video' } }],
  [10, { pair: { wa_message_id: 'P', kind: 'hd_image' } }],
  [12, { pair: { wa_message_id: 'P', kind: 'motion_photo' } }],
  [19, { pair: { wa_message_id: 'P', kind: 'hevc_video' } }],
  [4, {}],
])('a picture with the association %i', (associationType, expected) => {
  const messageContextInfo = { messageAssociation: { associationType, parentMessageKey: { id: 'P' } } };
  const { type, text, quoted_wa_message_id, ...more } = parse({ imageMessage: {}, messageContextInfo })!;
  expect([type, text, quoted_wa_message_id]).toEqual(['image', null, null]);
  expect(more).toEqual(expected);
});

test('a message forwarded from a channel names it', () => {
  const channel = { newsletterJid: '120@newsletter', newsletterName: 'News', serverMessageId: 7 };
  const contextInfo = { isForwarded: true, forwardedNewsletterMessageInfo: channel };
  expect(parse({ extendedTextMessage: { text: 'x', contextInfo } })).toMatchObject({
    forwarded_from: { id: '120@newsletter', name: 'News', post_id: 7 },
  });
});
