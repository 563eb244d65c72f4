import type { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/engine';
import { changeIn } from './edits.js';
import { clickIn } from './clicks.js';

/** What of an inbound message its content says, whoever wrote it. */
export type Said = Pick<
  InboundMessage,
  'type' | 'text' | 'location' | 'contacts' | 'click' | 'change' | 'quoted_wa_message_id'
> &
  Pick<InboundMessage, 'is_forwarded' | 'mentions'>;

const MAX_TEXT = 65_536;

/** Null where there is nothing that a person would see: keys, settings, what apps say to each other. */
export function readContent(message: proto.IMessage): Said | null {
  const change = changeIn(message);
  if (change) return { type: 'other', text: null, quoted_wa_message_id: null, change };
  const read = READERS.find(({ field }) => message[field]);
  if (!read) return isSilent(message) ? null : { type: 'other', text: null, quoted_wa_message_id: null };
  const click = clickIn(message);
  return { ...read.read(message), ...contextOf(message), ...(click && { click }) };
}

interface Reader {
  field: keyof proto.IMessage;
  read: (message: proto.IMessage) => Pick<Said, 'type' | 'text' | 'location' | 'contacts'>;
}

const said = (text: string | null | undefined): string | null => (text ? text.slice(0, MAX_TEXT) : null);

const READERS: Reader[] = [
  { field: 'conversation', read: ({ conversation }) => ({ type: 'text', text: said(conversation) }) },
  {
    field: 'extendedTextMessage',
    read: ({ extendedTextMessage }) => ({ type: 'text', text: said(extendedTextMessage?.text) }),
  },
  {
    field: 'imageMessage',
    read: ({ imageMessage }) => ({ type: 'image', text: said(imageMessage?.caption) }),
  },
  {
    field: 'videoMessage',
    read: ({ videoMessage }) => ({ type: 'video', text: said(videoMessage?.caption) }),
  },
  { field: 'ptvMessage', read: ({ ptvMessage }) => ({ type: 'video', text: said(ptvMessage?.caption) }) },
  { field: 'audioMessage', read: () => ({ type: 'audio', text: null }) },
  {
    field: 'documentMessage',
    read: ({ documentMessage }) => ({ type: 'document', text: said(documentMessage?.caption) }),
  },
  { field: 'stickerMessage', read: () => ({ type: 'sticker', text: null }) },
  { field: 'locationMessage', read: ({ locationMessage }) => placeOf(locationMessage!) },
  { field: 'liveLocationMessage', read: ({ liveLocationMessage }) => placeOf(liveLocationMessage!) },
  { field: 'contactMessage', read: ({ contactMessage }) => peopleOf([contactMessage!]) },
  {
    field: 'contactsArrayMessage',
    read: ({ contactsArrayMessage }) => peopleOf(contactsArrayMessage?.contacts ?? []),
  },
  { field: 'pollCreationMessage', read: ({ pollCreationMessage: poll }) => pollOf(poll!) },
  { field: 'pollCreationMessageV2', read: ({ pollCreationMessageV2: poll }) => pollOf(poll!) },
  { field: 'pollCreationMessageV3', read: ({ pollCreationMessageV3: poll }) => pollOf(poll!) },
  {
    field: 'interactiveResponseMessage',
    read: ({ interactiveResponseMessage }) => tapped(interactiveResponseMessage?.body?.text),
  },
  {
    field: 'buttonsResponseMessage',
    read: ({ buttonsResponseMessage }) => tapped(buttonsResponseMessage?.selectedDisplayText),
  },
  {
    field: 'templateButtonReplyMessage',
    read: ({ templateButtonReplyMessage }) => tapped(templateButtonReplyMessage?.selectedDisplayText),
  },
  { field: 'listResponseMessage', read: ({ listResponseMessage }) => tapped(listResponseMessage?.title) },
  {
    field: 'interactiveMessage',
    read: ({ interactiveMessage }) => tapped(interactiveMessage?.body?.text),
  },
  {
    field: 'templateMessage',
    read: ({ templateMessage }) => tapped(templateMessage?.hydratedTemplate?.hydratedContentText),
  },
  { field: 'buttonsMessage', read: ({ buttonsMessage }) => tapped(buttonsMessage?.contentText) },
  { field: 'listMessage', read: ({ listMessage }) => tapped(listMessage?.description) },
];

const tapped = (text: string | null | undefined): ReturnType<Reader['read']> => ({
  type: 'interactive',
  text: said(text),
});

const pollOf = (poll: proto.Message.IPollCreationMessage): ReturnType<Reader['read']> => ({
  type: 'poll',
  text: said(poll.name),
});

function placeOf(place: proto.Message.ILocationMessage): ReturnType<Reader['read']> {
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

const MAX_PEOPLE = 300;
const MAX_PHONES = 50;

function peopleOf(cards: proto.Message.IContactMessage[]): ReturnType<Reader['read']> {
  const contacts = cards.slice(0, MAX_PEOPLE).map(({ displayName, vcard }) => ({
    name: (displayName ?? '').slice(0, 1_000),
    phones: phonesIn(vcard ?? ''),
  }));
  return { type: 'contact', text: null, contacts };
}

/** By the id that the network knows where the card has one, else as it is written. */
function phonesIn(vcard: string): string[] {
  const lines = vcard.split(/\r?\n/).filter((line) => /^(item\d+\.)?TEL/i.test(line));
  const phones = lines.map((line) => /waid=(\d+)/.exec(line)?.[1] ?? line.slice(line.indexOf(':') + 1));
  return phones
    .map((phone) => phone.replace(/[^\d]/g, '').slice(0, 100))
    .filter(Boolean)
    .slice(0, MAX_PHONES);
}

const MAX_MENTIONS = 1_024;

function contextOf(
  message: proto.IMessage,
): Pick<Said, 'quoted_wa_message_id' | 'is_forwarded' | 'mentions'> {
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

/** What never shows, whoever gets it. */
const SILENT = new Set<string>([
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
  // How many pictures follow: each is a message of its own.
  'albumMessage',
]);

function isSilent(message: proto.IMessage): boolean {
  return Object.entries(message).every(([field, content]) => !content || SILENT.has(field));
}
