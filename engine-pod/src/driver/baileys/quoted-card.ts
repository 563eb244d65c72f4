import { proto } from '@whiskeysockets/baileys';
import type { QuotedMessage } from '@gwk/core/protocol/engine';
import { limitText } from './receive/normalise/text.js';
import { buildVcard } from './send/content/plain.js';
import { MAX_CARD_BYTES } from '@gwk/core/protocol/sizes';

/**
 * The card of a quote: the quoted message as far as apps show it above a reply, without its text and without the keys of
 * its file. The API keeps the card of each message that has one; texts come from where they are stored.
 */
type Cards = {
  [Field in keyof proto.IMessage]: {
    /** Selects the parts of the card. */
    keep: (content: NonNullable<proto.IMessage[Field]>) => NonNullable<proto.IMessage[Field]>;
    /** Adds the text. Absent: the card shows none. */
    write?: (text: string) => NonNullable<proto.IMessage[Field]>;
    /** Whether the card is empty without a text. */
    needsText?: true;
  };
};

/** Shown in place of a text that is no longer stored. */
const NO_TEXT = '…';
const MAX_NAME = 300;
const MAX_CONTACTS = 20;

const caption = (text: string) => ({ caption: text });
const name = (text: string) => ({ name: text });
const description = (text: string) => ({ description: text });
/** Apps cannot read a message with half a surrogate pair, which a cut leaves and which senders can write. */
const shorten = (text: string | null | undefined): string | null =>
  text ? limitText(text.toWellFormed(), MAX_NAME) : null;

/** By field of the message. Other messages are quoted as their text. */
const CARDS: Cards = {
  imageMessage: { keep: keepPicture, write: caption },
  videoMessage: { keep: keepFilm, write: caption },
  ptvMessage: { keep: keepFilm, write: caption },
  audioMessage: {
    keep: ({ mimetype, seconds, ptt, waveform, viewOnce }) => ({
      ...{ mimetype: shorten(mimetype), seconds, ptt, viewOnce },
      ...(waveform && { waveform: waveform.subarray(0, 64) }),
    }),
  },
  documentMessage: {
    keep: ({ mimetype, fileName, title, pageCount, jpegThumbnail }) => ({
      ...{ mimetype: shorten(mimetype), fileName: shorten(fileName), title: shorten(title), pageCount },
      ...{ jpegThumbnail: keepThumbnail(jpegThumbnail) },
    }),
    write: caption,
  },
  stickerMessage: {
    keep: ({ mimetype, width, height, isAnimated, isLottie }) => ({
      ...{ mimetype: shorten(mimetype), width, height, isAnimated, isLottie },
    }),
  },
  locationMessage: {
    keep: ({ degreesLatitude, degreesLongitude, name, address, jpegThumbnail }) => ({
      ...{ degreesLatitude, degreesLongitude, name: shorten(name), address: shorten(address) },
      ...{ jpegThumbnail: keepThumbnail(jpegThumbnail) },
    }),
  },
  liveLocationMessage: {
    keep: ({ degreesLatitude, degreesLongitude, jpegThumbnail }) => ({
      ...{ degreesLatitude, degreesLongitude, jpegThumbnail: keepThumbnail(jpegThumbnail) },
    }),
    write: caption,
  },
  contactMessage: { keep: keepContact },
  albumMessage: {
    keep: ({ expectedImageCount, expectedVideoCount }) => ({ expectedImageCount, expectedVideoCount }),
  },
  contactsArrayMessage: {
    keep: ({ displayName, contacts }) => ({
      displayName: shorten(displayName),
      contacts: (contacts ?? []).slice(0, MAX_CONTACTS).map(keepContact),
    }),
  },
  // Without the token, with which its content can be read.
  orderMessage: {
    keep: ({ orderId, thumbnail, itemCount, orderTitle, sellerJid, totalAmount1000, totalCurrencyCode }) => ({
      ...{
        orderId: shorten(orderId),
        orderTitle: shorten(orderTitle),
        sellerJid: shorten(sellerJid),
        itemCount,
      },
      ...{ totalAmount1000, totalCurrencyCode: shorten(totalCurrencyCode) },
      ...{ thumbnail: keepThumbnail(thumbnail) },
    }),
    write: (message) => ({ message }),
  },
  productMessage: {
    keep: ({ product, businessOwnerJid }) => ({
      ...{ product: keepProduct(product ?? {}), businessOwnerJid: shorten(businessOwnerJid) },
    }),
  },
  pollCreationMessage: { keep: keepPoll, write: name, needsText: true },
  pollCreationMessageV2: { keep: keepPoll, write: name, needsText: true },
  pollCreationMessageV3: { keep: keepPoll, write: name, needsText: true },
  interactiveMessage: {
    keep: ({ nativeFlowMessage }) =>
      nativeFlowMessage ? { nativeFlowMessage: { buttons: [], messageVersion: 1 } } : {},
    write: (text) => ({ body: { text } }),
    needsText: true,
  },
  buttonsMessage: {
    keep: () => ({ headerType: 1 }),
    write: (text) => ({ contentText: text }),
    needsText: true,
  },
  listMessage: { keep: ({ listType }) => ({ listType: listType ?? 1 }), write: description, needsText: true },
  templateMessage: {
    keep: () => ({}),
    write: (text) => ({ hydratedTemplate: { hydratedContentText: text } }),
    needsText: true,
  },
};
type Field = keyof typeof CARDS;

function keepPicture({ mimetype, width, height, jpegThumbnail, viewOnce }: proto.Message.IImageMessage) {
  const size = { mimetype: shorten(mimetype), width, height, viewOnce };
  return { ...size, jpegThumbnail: viewOnce ? null : keepThumbnail(jpegThumbnail) };
}

function keepFilm(film: proto.Message.IVideoMessage) {
  const { seconds, gifPlayback } = film;
  return { ...keepPicture(film), seconds, gifPlayback };
}

function keepContact({ displayName }: proto.Message.IContactMessage) {
  const name = shorten(displayName) ?? NO_TEXT;
  return { displayName: name, vcard: buildVcard({ name, phones: [] }) };
}

function keepProduct(product: proto.Message.ProductMessage.IProductSnapshot) {
  const { productImage, productId, title, retailerId, currencyCode } = product;
  const { priceAmount1000, salePriceAmount1000, productImageCount } = product;
  return {
    ...{ productId: shorten(productId), title: shorten(title), retailerId: shorten(retailerId) },
    ...{ currencyCode: shorten(currencyCode), priceAmount1000, salePriceAmount1000, productImageCount },
    ...(productImage && { productImage: keepPicture(productImage) }),
  };
}

function keepPoll({ selectableOptionsCount }: proto.Message.IPollCreationMessage) {
  return { options: [], selectableOptionsCount };
}

/** Senders choose the bytes, and a quote carries them to other people. Apps write JPEGs of some kilobytes. */
const MAX_THUMBNAIL = 24_000;
const isJpeg = (bytes: Uint8Array): boolean => bytes[0] === 0xff && bytes[1] === 0xd8;

function keepThumbnail(bytes: Uint8Array | null | undefined): Uint8Array | null {
  return bytes && bytes.length <= MAX_THUMBNAIL && isJpeg(bytes) ? bytes : null;
}

/** @returns the encoded card of a message; null if it is quoted as its text */
export function encodeCard(message: proto.IMessage): Buffer | null {
  const field = findField(message);
  if (!field) return null;
  const { keep } = CARDS[field] as { keep: (content: unknown) => object };
  const bytes = proto.Message.encode({ [field]: keep(message[field]) }).finish();
  return bytes.length <= MAX_CARD_BYTES ? Buffer.from(bytes) : null;
}

/** An edit may contain only the new text: then the former card stays. */
export function encodeEditedCard(message: proto.IMessage): Buffer | null {
  const field = findField(message);
  if (!field) return null;
  const { jpegThumbnail, fileName } = message[field] as proto.Message.IDocumentMessage;
  const showsThumbnail = ['imageMessage', 'videoMessage', 'ptvMessage'].includes(field);
  const isPart = showsThumbnail ? !keepThumbnail(jpegThumbnail) : field === 'documentMessage' && !fileName;
  return isPart ? null : encodeCard(message);
}

/** By type, for messages of which no card is stored. */
const DEFAULT_CARDS: Record<string, proto.IMessage> = {
  image: { imageMessage: { mimetype: 'image/jpeg' } },
  video: { videoMessage: { mimetype: 'video/mp4' } },
  audio: { audioMessage: { mimetype: 'audio/ogg; codecs=opus', ptt: true } },
  document: { documentMessage: { mimetype: 'application/octet-stream', fileName: 'file', title: 'file' } },
  sticker: { stickerMessage: { mimetype: 'image/webp' } },
  location: { locationMessage: { degreesLatitude: 0, degreesLongitude: 0 } },
  contact: { contactMessage: keepContact({}) },
  poll: { pollCreationMessageV3: { options: [], selectableOptionsCount: 1 } },
};

/** Builds the content of a quote. It is never empty: apps show an empty one as a broken message. */
export function buildQuotedContent({ type, text, card }: QuotedMessage): proto.IMessage {
  const message =
    card === undefined ? DEFAULT_CARDS[type] : proto.Message.decode(Buffer.from(card, 'base64'));
  const field = message && findField(message);
  if (!field) return { conversation: text || NO_TEXT };
  const { write, needsText } = CARDS[field] as { write?: (text: string) => object; needsText?: true };
  const shown = text || (needsText ? NO_TEXT : null);
  return { [field]: { ...(message[field] as object), ...(shown !== null && write?.(shown)) } };
}

const FIELDS = Object.keys(CARDS) as Field[];
const findField = (message: proto.IMessage): Field | undefined => FIELDS.find((field) => message[field]);
