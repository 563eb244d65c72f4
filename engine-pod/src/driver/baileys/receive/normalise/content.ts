import type { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { parseEdit } from './edits.js';
import { parseClick } from './clicks.js';

/** The part of an inbound message that comes from its content. */
type ParsedContent = Pick<
  InboundMessage,
  'type' | 'text' | 'location' | 'contacts' | 'click' | 'change' | 'quoted_wa_message_id'
> &
  Pick<InboundMessage, 'is_forwarded' | 'mentions'>;

const MAX_TEXT = 65_536;

/** Null when a person would see nothing: keys, settings, messages between apps. */
export function parseContent(message: proto.IMessage): ParsedContent | null {
  const edit = parseEdit(message);
  if (edit) return { type: 'other', text: null, quoted_wa_message_id: null, change: edit };
  const parser = PARSERS.find(({ field }) => message[field]);
  if (!parser) return isInvisible(message) ? null : { type: 'other', text: null, quoted_wa_message_id: null };
  const click = parseClick(message);
  return { ...parser.parse(message), ...parseContext(message), ...(click && { click }) };
}

interface ContentParser {
  field: keyof proto.IMessage;
  parse: (message: proto.IMessage) => Pick<ParsedContent, 'type' | 'text' | 'location' | 'contacts'>;
}

const limitText = (text: string | null | undefined): string | null => (text ? text.slice(0, MAX_TEXT) : null);

const PARSERS: ContentParser[] = [
  { field: 'conversation', parse: ({ conversation }) => ({ type: 'text', text: limitText(conversation) }) },
  {
    field: 'extendedTextMessage',
    parse: ({ extendedTextMessage }) => ({ type: 'text', text: limitText(extendedTextMessage?.text) }),
  },
  {
    field: 'imageMessage',
    parse: ({ imageMessage }) => ({ type: 'image', text: limitText(imageMessage?.caption) }),
  },
  {
    field: 'videoMessage',
    parse: ({ videoMessage }) => ({ type: 'video', text: limitText(videoMessage?.caption) }),
  },
  {
    field: 'ptvMessage',
    parse: ({ ptvMessage }) => ({ type: 'video', text: limitText(ptvMessage?.caption) }),
  },
  { field: 'audioMessage', parse: () => ({ type: 'audio', text: null }) },
  {
    field: 'documentMessage',
    parse: ({ documentMessage }) => ({ type: 'document', text: limitText(documentMessage?.caption) }),
  },
  { field: 'stickerMessage', parse: () => ({ type: 'sticker', text: null }) },
  { field: 'locationMessage', parse: ({ locationMessage }) => parseLocation(locationMessage!) },
  { field: 'liveLocationMessage', parse: ({ liveLocationMessage }) => parseLocation(liveLocationMessage!) },
  { field: 'contactMessage', parse: ({ contactMessage }) => parseContacts([contactMessage!]) },
  {
    field: 'contactsArrayMessage',
    parse: ({ contactsArrayMessage }) => parseContacts(contactsArrayMessage?.contacts ?? []),
  },
  { field: 'pollCreationMessage', parse: ({ pollCreationMessage: poll }) => parsePoll(poll!) },
  { field: 'pollCreationMessageV2', parse: ({ pollCreationMessageV2: poll }) => parsePoll(poll!) },
  { field: 'pollCreationMessageV3', parse: ({ pollCreationMessageV3: poll }) => parsePoll(poll!) },
  {
    field: 'interactiveResponseMessage',
    parse: ({ interactiveResponseMessage }) => parseInteractive(interactiveResponseMessage?.body?.text),
  },
  {
    field: 'buttonsResponseMessage',
    parse: ({ buttonsResponseMessage }) => parseInteractive(buttonsResponseMessage?.selectedDisplayText),
  },
  {
    field: 'templateButtonReplyMessage',
    parse: ({ templateButtonReplyMessage }) =>
      parseInteractive(templateButtonReplyMessage?.selectedDisplayText),
  },
  {
    field: 'listResponseMessage',
    parse: ({ listResponseMessage }) => parseInteractive(listResponseMessage?.title),
  },
  {
    field: 'interactiveMessage',
    parse: ({ interactiveMessage }) => parseInteractive(interactiveMessage?.body?.text),
  },
  {
    field: 'templateMessage',
    parse: ({ templateMessage }) => parseInteractive(templateMessage?.hydratedTemplate?.hydratedContentText),
  },
  { field: 'buttonsMessage', parse: ({ buttonsMessage }) => parseInteractive(buttonsMessage?.contentText) },
  { field: 'listMessage', parse: ({ listMessage }) => parseInteractive(listMessage?.description) },
];

const parseInteractive = (text: string | null | undefined): ReturnType<ContentParser['parse']> => ({
  type: 'interactive',
  text: limitText(text),
});

const parsePoll = (poll: proto.Message.IPollCreationMessage): ReturnType<ContentParser['parse']> => ({
  type: 'poll',
  text: limitText(poll.name),
});

function parseLocation(place: proto.Message.ILocationMessage): ReturnType<ContentParser['parse']> {
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

function parseContacts(cards: proto.Message.IContactMessage[]): ReturnType<ContentParser['parse']> {
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
