import { toPublicId } from '@gwk/core/ids/ids';
import { isGroupId } from '@gwk/core/ids/recipients';
import {
  DETAIL_FIELDS,
  type ContactIds,
  type EventChat,
  type EventPerson,
  type MenuReply,
  type ReceivedData,
  type ReceivedMedia,
} from '@gwk/core/resources/event-data';
import { cleanFilename } from '@gwk/core/text/filenames';
import { identify, type EventDraft } from '../events/emit.js';
import { hasRow, networkId, type Arrival, type Incoming } from './arrival.js';
import type { Known, ReceivedFile } from './gather.js';

/** Builds the parts of events: conversation, sender and content. */
export function buildSubject(
  arrival: Arrival,
  known: Known,
): { accountId: string; instanceId: string; chat: EventChat } {
  const { instanceId, chat } = arrival;
  const isShared = chat.kind === 'group';
  const { id, ...shown } = isShared ? { id: chat.name } : identifyContact(arrival, known);
  const is_group = isShared && isGroupId(chat.name);
  return { accountId: known.accountId!, instanceId, chat: { id, is_group, ...shown } };
}

export function buildSender(arrival: Arrival, known: Known): EventPerson {
  const { message, chat, sender, link } = arrival;
  const name = message.from_name;
  if (message.from_me || !sender) return { id: networkId(message.from), username: null, name };
  if (chat.kind === 'contact') return { ...identifyContact(arrival, known), name };
  const phone = link?.phone ?? sender.phone ?? known.senderPhone;
  const username = message.username ?? known.senderUsername;
  return { id: networkId(message.from), ...(phone !== null && { phone }), username, name };
}

/** The message's own names come first: the newest that this instance knows. */
export function identifyContact({ chat, link, message }: Arrival, known: Known): ContactIds {
  const username = message.username ?? known.username;
  return { ...identify(chat.phone ?? chat.name, link ?? known), username };
}

/** Builds the event of a message: received, a reply to a menu, or sent from another device of the account. */
export function receivedEvent(arrival: Arrival, known: Known, reply?: MenuReply): EventDraft {
  const { messageId, message, at } = arrival;
  const { accountId, instanceId, chat } = buildSubject(arrival, known);
  const { from_me } = message;
  // A click or vote without text has the text of its label.
  const text = message.text ?? reply?.label;
  const data: ReceivedData & { reply?: MenuReply } = {
    instance_id: toPublicId('instance', instanceId),
    ...(hasRow(arrival) && { message_id: toPublicId('message', messageId) }),
    wa_message_id: message.wa_message_id,
    chat,
    from: buildSender(arrival, known),
    from_me,
    timestamp: at.toISOString(),
    type: message.type,
    ...(text !== undefined && { text }),
    ...moreOf(arrival, known, chat),
    ...(reply && { reply }),
  };
  const receivedType = reply ? 'message.interactive_reply' : 'message.received';
  return { accountId, instanceId, type: from_me ? 'message.sent_from_device' : receivedType, data };
}

/** Optional fields; absent ones are omitted. */
function moreOf({ message }: Arrival, known: Known, chat: EventChat): Partial<ReceivedData> {
  const { location, contacts, mentions, is_forwarded, media, quoted, quoted_wa_message_id: id } = message;
  const author_username = (quoted?.author === chat.id && chat.username) || known.authorUsername;
  return {
    ...(media && { media: mediaOf(media, known.file) }),
    ...(location && { location }),
    ...(contacts && { contacts }),
    ...(mentions && mentions.length > 0 && { mentions: mentions.map(mentionOf) }),
    ...(is_forwarded && { is_forwarded }),
    ...(id !== null && {
      quoted_wa_message_id: id,
      ...(quoted && { quoted: { id, ...quoted, author_username } }),
    }),
    ...detailsOf(message),
  };
}

/** A field that is false is absent. */
function detailsOf(message: Incoming): Partial<ReceivedData> {
  const present = DETAIL_FIELDS.filter((field) => message[field]);
  return Object.fromEntries(present.map((field) => [field, message[field]]));
}

/** File of a message without its link, which is created for each delivery. */
function mediaOf(media: NonNullable<Incoming['media']>, file: ReceivedFile | null): ReceivedMedia {
  if ('error' in media) {
    const { filename: given, ...known } = media;
    const filename = given === undefined ? null : cleanFilename(given, '_');
    return { ...known, ...(filename !== null && { filename }) };
  }
  if (!file) return { error: 'unavailable' };
  const { duration_s, voice } = media;
  return { ...file, ...(duration_s !== undefined && { duration_s }), ...(voice !== undefined && { voice }) };
}

/** Converts a mention into the form of a send: the phone number, or the network id if it is unknown. */
function mentionOf(id: string): string {
  return /^([0-9]{8,15})(?::[0-9]+)?@s\.whatsapp\.net$/.exec(id)?.[1] ?? networkId(id);
}
