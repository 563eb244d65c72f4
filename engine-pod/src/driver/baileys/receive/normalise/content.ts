import { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { parseClick } from './clicks.js';
import { unwrapMessage } from './envelope.js';

/** The part of an inbound message that comes from its content. */
type ParsedContent = Pick<
  InboundMessage,
  'type' | 'text' | 'location' | 'contacts' | 'click' | 'change' | 'quoted_wa_message_id'
> &
  Pick<InboundMessage, 'is_forwarded' | 'mentions'>;

type Edit = NonNullable<InboundMessage['change']>;

const { MESSAGE_EDIT, REVOKE } = proto.Message.ProtocolMessage.Type;
const MAX_TEXT = 65_536;

/** Null when a person would see nothing: keys, settings, messages between apps. */
export function parseContent(message: proto.IMessage): ParsedContent | null {
  const edit = parseEdit(message);
  if (edit) return { type: 'other', text: null, quoted_wa_message_id: null, change: edit };
  const field = FIELDS.find((one) => message[one]);
  if (!field) return isInvisible(message) ? null : { type: 'other', text: null, quoted_wa_message_id: null };
  const click = parseClick(message);
  const parse = PARSERS[field] as (content: unknown) => Parsed;
  return { ...parse(message[field]), ...parseContext(message), ...(click && { click }) };
}

type Parsed = Pick<ParsedContent, 'type' | 'text' | 'location' | 'contacts'>;

const limitText = (text: string | null | undefined): string | null => (text ? text.slice(0, MAX_TEXT) : null);

const asText =
  (type: Parsed['type']) =>
  (text?: string | null): Parsed => ({ type, text: limitText(text) });
const [text, image, video, document] = [asText('text'), asText('image'), asText('video'), asText('document')];
const [interactive, poll] = [asText('interactive'), asText('poll')];

/** By field of the message. If a message has several of them, the first counts. */
const PARSERS: { [Field in keyof proto.IMessage]: (content: NonNullable<proto.IMessage[Field]>) => Parsed } =
  {
    conversation: (content) => text(content),
    extendedTextMessage: (content) => text(content.text),
    imageMessage: ({ caption }) => image(caption),
    videoMessage: ({ caption }) => video(caption),
    ptvMessage: ({ caption }) => video(caption),
    audioMessage: () => ({ type: 'audio', text: null }),
    documentMessage: ({ caption }) => document(caption),
    stickerMessage: () => ({ type: 'sticker', text: null }),
    locationMessage: parseLocation,
    liveLocationMessage: parseLocation,
    contactMessage: (card) => parseContacts([card]),
    contactsArrayMessage: ({ contacts }) => parseContacts(contacts ?? []),
    pollCreationMessage: ({ name }) => poll(name),
    pollCreationMessageV2: ({ name }) => poll(name),
    pollCreationMessageV3: ({ name }) => poll(name),
    interactiveResponseMessage: ({ body }) => interactive(body?.text),
    buttonsResponseMessage: ({ selectedDisplayText }) => interactive(selectedDisplayText),
    templateButtonReplyMessage: ({ selectedDisplayText }) => interactive(selectedDisplayText),
    listResponseMessage: ({ title }) => interactive(title),
    interactiveMessage: ({ body }) => interactive(body?.text),
    templateMessage: ({ hydratedTemplate }) => interactive(hydratedTemplate?.hydratedContentText),
    buttonsMessage: ({ contentText }) => interactive(contentText),
    listMessage: ({ description }) => interactive(description),
  };
const FIELDS = Object.keys(PARSERS) as (keyof proto.IMessage)[];

function parseLocation(place: proto.Message.ILocationMessage): Parsed {
  const { degreesLatitude, degreesLongitude, name, address } = place;
  return {
    type: 'location',
    text: null,
    location: {
      latitude: degreesLatitude ?? 0,
      longitude: degreesLongitude ?? 0,
      ...(name && { name: name.slice(0, 1_000) }),
      ...(address && { address: address.slice(0, 1_000) }),
    },
  };
}

const MAX_CONTACTS = 300;
const MAX_PHONES = 50;

function parseContacts(cards: proto.Message.IContactMessage[]): Parsed {
  const contacts = cards.slice(0, MAX_CONTACTS).map(({ displayName, vcard }) => ({
    name: (displayName ?? '').slice(0, 1_000),
    phones: parsePhones(vcard ?? ''),
  }));
  return { type: 'contact', text: null, contacts };
}

/** The network's id from the card if it has one, else the number as written. */
function parsePhones(vcard: string): string[] {
  const lines = vcard.split(/\r?\n/).filter((line) => /^(item\d+\.)?TEL/i.test(line));
  const phones = lines.map((line) => /waid=(\d+)/.exec(line)?.[1] ?? line.slice(line.indexOf(':') + 1));
  return phones
    .map((phone) => phone.replace(/[^\d]/g, '').slice(0, 100))
    .filter(Boolean)
    .slice(0, MAX_PHONES);
}

const MAX_MENTIONS = 1_024;

function parseContext(
  message: proto.IMessage,
): Pick<ParsedContent, 'quoted_wa_message_id' | 'is_forwarded' | 'mentions'> {
  const holder = Object.values(message).find(
    (content: { contextInfo?: proto.IContextInfo } | null) => content?.contextInfo,
  ) as { contextInfo: proto.IContextInfo } | undefined;
  const { stanzaId, isForwarded, mentionedJid } = holder?.contextInfo ?? {};
  return {
    quoted_wa_message_id: stanzaId ? stanzaId.slice(0, 200) : null,
    ...(isForwarded && { is_forwarded: true }),
    ...(mentionedJid?.length && {
      mentions: mentionedJid.slice(0, MAX_MENTIONS).map((jid) => jid.slice(0, 100)),
    }),
  };
}

/** Fields that no app ever shows. */
const INVISIBLE = new Set<string>([
  'messageContextInfo',
  'senderKeyDistributionMessage',
  'fastRatchetKeySenderKeyDistributionMessage',
  'protocolMessage',
  'reactionMessage',
  'encReactionMessage',
  'pollUpdateMessage',
  'keepInChatMessage',
  'pinInChatMessage',
  'secretEncryptedMessage',
  'messageHistoryBundle',
  'messageHistoryNotice',
  'stickerSyncRmrMessage',
  // The number of pictures that follow; each is a message of its own.
  'albumMessage',
]);

function isInvisible(message: proto.IMessage): boolean {
  return Object.entries(message).every(([field, content]) => !content || INVISIBLE.has(field));
}

/** Parses a change of an earlier message: a new text, a deletion or a reaction. */
function parseEdit({ protocolMessage, reactionMessage }: proto.IMessage): Edit | null {
  if (reactionMessage) return parseReaction(reactionMessage);
  const id = protocolMessage?.key?.id;
  if (!id) return null;
  const wa_message_id = id.slice(0, 200);
  if (protocolMessage.type === REVOKE) return { kind: 'delete', wa_message_id };
  if (protocolMessage.type !== MESSAGE_EDIT || !protocolMessage.editedMessage) return null;
  const text = findText(protocolMessage.editedMessage) ?? '';
  return { kind: 'edit', wa_message_id, text: text.slice(0, MAX_TEXT) };
}

function parseReaction({ key, text }: proto.Message.IReactionMessage): Edit | null {
  return key?.id
    ? { kind: 'reaction', wa_message_id: key.id.slice(0, 200), emoji: (text ?? '').slice(0, 100) }
    : null;
}

/** The text of an edited message, which may be a caption. */
function findText(message: proto.IMessage): string | null {
  const { conversation, extendedTextMessage, imageMessage, videoMessage, documentMessage } =
    unwrapMessage(message);
  const captioned = imageMessage ?? videoMessage ?? documentMessage;
  return conversation || extendedTextMessage?.text || captioned?.caption || null;
}
