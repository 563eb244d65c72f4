import { proto } from '@whiskeysockets/baileys';
import type { QuotedMessage } from '@gwk/core/protocol/engine';
import { buildQuotedContent, encodeCard, encodeEditedCard } from './quoted-card.js';

const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(2_000, 7)]);
const file = {
  ...{ url: 'https://mmg.whatsapp.net/f', directPath: '/f', mediaKey: Buffer.alloc(32, 1) },
  ...{ fileSha256: Buffer.alloc(32, 2), fileEncSha256: Buffer.alloc(32, 3), fileLength: 5 },
};

/** Quotes a message whose card the API has kept, decoded as a recipient does. */
function quote(message: proto.IMessage, more: Partial<QuotedMessage> = {}): Record<string, unknown> {
  const card = encodeCard(message)?.toString('base64');
  return quoteRow({ type: 'other', ...(card !== undefined && { card }), ...more });
}

function quoteRow(more: Pick<QuotedMessage, 'type'> & Partial<QuotedMessage>): Record<string, unknown> {
  const row = { wa_message_id: '3EB0Q', chat: 'c', from_me: false, participant: null, text: '' };
  const bytes = proto.Message.encode(buildQuotedContent({ ...row, ...more })).finish();
  return proto.Message.toObject(proto.Message.decode(bytes), { bytes: String });
}

const thumb = jpeg.toString('base64');
const picture = { width: 4, height: 3, jpegThumbnail: jpeg };
const shownPicture = { width: 4, height: 3, jpegThumbnail: thumb };

const shownOrder = {
  ...{ orderId: 'o1', orderTitle: 'Lunch', itemCount: 2, sellerJid: 's@lid' },
  ...{
    totalAmount1000: expect.objectContaining({ low: 12_500 }) as object,
    totalCurrencyCode: 'BRL',
    thumbnail: thumb,
  },
};

describe('a card with its text, and after the text is deleted:', () => {
  const table: [string, proto.IMessage, object, object][] = [
    ['a picture', { imageMessage: { ...file, mimetype: 'image/png', ...picture, caption: 'x' } }, { imageMessage: { mimetype: 'image/png', ...shownPicture, caption: 'said' } }, { imageMessage: { mimetype: 'image/png', ...shownPicture } }],
    ['a film', { videoMessage: { ...file, ...picture, seconds: 9, gifPlayback: true } }, { videoMessage: { ...shownPicture, seconds: 9, gifPlayback: true, caption: 'said' } }, { videoMessage: { ...shownPicture, seconds: 9, gifPlayback: true } }],
    ['a round film', { ptvMessage: { ...file, ...picture, seconds: 9 } }, { ptvMessage: { ...shownPicture, seconds: 9, caption: 'said' } }, { ptvMessage: { ...shownPicture, seconds: 9 } }],
    ['a document', { documentMessage: { ...file, fileName: 'a.pdf', title: 'A', pageCount: 2, jpegThumbnail: jpeg } }, { documentMessage: { fileName: 'a.pdf', title: 'A', pageCount: 2, jpegThumbnail: thumb, caption: 'said' } }, { documentMessage: { fileName: 'a.pdf', title: 'A', pageCount: 2, jpegThumbnail: thumb } }],
    ['a live location', { liveLocationMessage: { degreesLatitude: 1, degreesLongitude: 2, speedInMps: 3, caption: 'x' } }, { liveLocationMessage: { degreesLatitude: 1, degreesLongitude: 2, caption: 'said' } }, { liveLocationMessage: { degreesLatitude: 1, degreesLongitude: 2 } }],
    ['a poll', { pollCreationMessage: { name: 'x', options: [{ optionName: 'a' }], selectableOptionsCount: 3, encKey: Buffer.alloc(32) }, messageContextInfo: { messageSecret: Buffer.alloc(32) } }, { pollCreationMessage: { name: 'said', selectableOptionsCount: 3 } }, { pollCreationMessage: { name: '…', selectableOptionsCount: 3 } }],
    ['buttons', { interactiveMessage: { body: { text: 'x' }, nativeFlowMessage: { buttons: [{ name: 'quick_reply' }] } } }, { interactiveMessage: { body: { text: 'said' }, nativeFlowMessage: { messageVersion: 1 } } }, { interactiveMessage: { body: { text: '…' }, nativeFlowMessage: { messageVersion: 1 } } }],
    ['legacy buttons', { buttonsMessage: { contentText: 'x', buttons: [{ buttonId: 'a' }] } }, { buttonsMessage: { contentText: 'said', headerType: 1 } }, { buttonsMessage: { contentText: '…', headerType: 1 } }],
    ['a list', { listMessage: { description: 'x', buttonText: 'b', listType: 1 } }, { listMessage: { description: 'said', listType: 1 } }, { listMessage: { description: '…', listType: 1 } }],
    ['a template', { templateMessage: { hydratedTemplate: { hydratedContentText: 'x' } } }, { templateMessage: { hydratedTemplate: { hydratedContentText: 'said' } } }, { templateMessage: { hydratedTemplate: { hydratedContentText: '…' } } }],
    ['an order', { orderMessage: { orderId: 'o1', token: 'secret', orderTitle: 'Lunch', itemCount: 2, message: 'x', sellerJid: 's@lid', totalAmount1000: 12_500, totalCurrencyCode: 'BRL', thumbnail: jpeg } }, { orderMessage: { ...shownOrder, message: 'said' } }, { orderMessage: shownOrder }],
    ['a text', { conversation: 'x' }, { conversation: 'said' }, { conversation: '…' }],
    ['a click', { buttonsResponseMessage: { selectedDisplayText: 'x' } }, { conversation: 'said' }, { conversation: '…' }],
  ]; // prettier-ignore
  test.each(table)('%s', (_, message, said, deleted) => {
    expect(quote(message, { text: 'said' })).toEqual(said);
    expect(quote(message)).toEqual(deleted);
  });
});

describe('a card without text:', () => {
  const vcard = (name: string) => expect.stringMatching(new RegExp(`FN:${name}\\nEND`)) as string;
  const table: [string, proto.IMessage, object][] = [
    ['a voice message', { audioMessage: { ...file, seconds: 7, ptt: true, waveform: Buffer.alloc(64, 9) } }, { audioMessage: { seconds: 7, ptt: true, waveform: Buffer.alloc(64, 9).toString('base64') } }],
    ['a sticker', { stickerMessage: { ...file, mimetype: 'image/webp', isAnimated: true } }, { stickerMessage: { mimetype: 'image/webp', isAnimated: true } }],
    ['a location', { locationMessage: { degreesLatitude: 1, degreesLongitude: 2, name: 'Here', url: 'x' } }, { locationMessage: { degreesLatitude: 1, degreesLongitude: 2, name: 'Here' } }],
    ['a contact', { contactMessage: { displayName: 'Bia', vcard: 'TEL:5511' } }, { contactMessage: { displayName: 'Bia', vcard: vcard('Bia') } }],
    ['contacts', { contactsArrayMessage: { displayName: '2 contacts', contacts: [{ displayName: 'A', vcard: 'x' }, {}] } }, { contactsArrayMessage: { displayName: '2 contacts', contacts: [{ displayName: 'A', vcard: vcard('A') }, { displayName: '…', vcard: vcard('…') }] } }],
    ['a product', { productMessage: { product: { productId: 'p1', title: 'Tea', description: 'x', retailerId: 'r', currencyCode: 'BRL', priceAmount1000: 9_000, signedUrl: 'x', productImage: { ...file, ...picture } }, businessOwnerJid: 's@lid', body: 'x' } }, { productMessage: { product: { productId: 'p1', title: 'Tea', retailerId: 'r', currencyCode: 'BRL', priceAmount1000: expect.objectContaining({ low: 9_000 }) as object, productImage: shownPicture }, businessOwnerJid: 's@lid' } }],
    ['an album', { albumMessage: { expectedImageCount: 2, expectedVideoCount: 1 } }, { albumMessage: { expectedImageCount: 2, expectedVideoCount: 1 } }],
    ['a picture to view once', { imageMessage: { ...picture, viewOnce: true } }, { imageMessage: { width: 4, height: 3, viewOnce: true } }],
  ]; // prettier-ignore
  test.each(table)('%s', (_, message, card) => expect(quote(message, { text: '' })).toEqual(card));
});

test.each([
  ['image', { imageMessage: { mimetype: 'image/jpeg', caption: 'said' } }],
  ['video', { videoMessage: { mimetype: 'video/mp4', caption: 'said' } }],
  ['audio', { audioMessage: { mimetype: 'audio/ogg; codecs=opus', ptt: true } }],
  ['document', { documentMessage: { fileName: 'file', caption: 'said' } }],
  ['sticker', { stickerMessage: { mimetype: 'image/webp' } }],
  ['location', { locationMessage: { degreesLatitude: 0 } }],
  ['contact', { contactMessage: { displayName: '…' } }],
  ['poll', { pollCreationMessageV3: { name: 'said' } }],
  ['interactive', { conversation: 'said' }],
  ['text', { conversation: 'said' }],
  ['other', { conversation: 'said' }],
])('a message of type %s without a card has a default one', (type, content) => {
  expect(quoteRow({ type, text: 'said' })).toMatchObject(content);
});

test.each([
  ['is too large', Buffer.concat([jpeg, Buffer.alloc(30_000)])],
  ['is no JPEG', Buffer.from('<svg/>')],
])('a thumbnail that %s is left out', (_, jpegThumbnail) => {
  expect(quote({ imageMessage: { mimetype: 'image/png', jpegThumbnail } })).toEqual({
    imageMessage: { mimetype: 'image/png' },
  });
});

test.each([
  ['is cut inside an emoji', `${'a'.repeat(299)}😀.pdf`],
  ['has half an emoji', 'a\ud83d.pdf'],
])('a name that %s stays readable', (_, fileName) => {
  const card = encodeCard({ documentMessage: { fileName } })!;
  const { fileName: shown } = proto.Message.decode(card).documentMessage!;
  expect(shown).toMatch(/^a+(?:…|\ufffd\.pdf)$/u);
});

test('a card that is too large is left out', () => {
  const contacts = Array.from({ length: 300 }, () => ({ displayName: '漢'.repeat(1_000) }));
  const card = encodeCard({ contactsArrayMessage: { displayName: 'x', contacts } });
  expect(card?.length ?? 0).toBeLessThanOrEqual(32_768);
});

test.each<[string, proto.IMessage, boolean]>([
  ['of a caption keeps the card', { imageMessage: { mimetype: 'image/png', caption: 'now' } }, false],
  [
    'with a broken thumbnail keeps the card',
    { videoMessage: { jpegThumbnail: Buffer.from('<svg/>') } },
    false,
  ],
  ['of the caption of a document keeps the card', { documentMessage: { caption: 'now' } }, false],
  ['of a text keeps the card', { extendedTextMessage: { text: 'now' } }, false],
  ['of a picture replaces the card', { imageMessage: picture }, true],
  ['of a document replaces the card', { documentMessage: { fileName: 'b.pdf' } }, true],
  ['of a place replaces the card', { locationMessage: { degreesLatitude: 1, degreesLongitude: 2 } }, true],
])('an edit %s', (_, edited, replaces) => {
  expect(encodeEditedCard(edited) !== null).toBe(replaces);
});
