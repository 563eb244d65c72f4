import { toNetworkId } from '@gwk/core/recipients';
import { buildPhone, type Chat, type From, type Received } from '../events/emit.js';
import type { Arrival, Incoming } from './arrival.js';
import type { Known, ReceivedFile } from './gather.js';

/** Builds the parts of events: conversation, sender and content. */
export function buildSubject(
  arrival: Arrival,
  known: Known,
): { accountId: string; instanceId: string; chat: Chat } {
  const { instanceId, message, chat } = arrival;
  const isGroup = chat.kind === 'group';
  const phone = isGroup ? {} : buildPhone(known.contactName ?? chat.name);
  const accountId = known.accountId!;
  return { accountId, instanceId, chat: { id: networkId(message.chat), is_group: isGroup, ...phone } };
}

export function buildSender({ message, chat, sender, alt }: Arrival, known: Known): From {
  const own = chat.kind === 'group' ? known.senderName : known.contactName;
  const name = sender && (own ?? altPhone(alt) ?? sender.name);
  return { id: networkId(message.from), ...buildPhone(name), name: message.from_name };
}

const altPhone = (alt: string | null): string | null => (alt?.includes('@') ? null : alt);

export function buildReceived(arrival: Arrival, known: Known): Received {
  const { messageId, message, at } = arrival;
  return {
    ...buildSubject(arrival, known),
    messageId,
    waMessageId: message.wa_message_id,
    from: buildSender(arrival, known),
    fromMe: message.from_me,
    at,
    type: message.type,
    text: message.text,
    quotedWaMessageId: message.quoted_wa_message_id,
    more: moreOf(arrival, known),
  };
}

/** Optional fields; absent ones are omitted. */
function moreOf({ message }: Arrival, { file }: Known): Record<string, unknown> {
  const { location, contacts, mentions, is_forwarded, media } = message;
  return {
    ...(media && { media: mediaOf(media, file) }),
    ...(location && { location }),
    ...(contacts && { contacts }),
    ...(mentions && mentions.length > 0 && { mentions: mentions.map(mentionOf) }),
    ...(is_forwarded && { is_forwarded }),
  };
}

/** File of a message without its link, which is created for each delivery. */
function mediaOf(media: NonNullable<Incoming['media']>, file: ReceivedFile | null): Record<string, unknown> {
  if ('error' in media) return { error: media.error };
  if (!file) return { error: 'unavailable' };
  const { duration_s, voice } = media;
  return { ...file, ...(duration_s !== undefined && { duration_s }), ...(voice !== undefined && { voice }) };
}

/** Converts a mention into the form of a send: the phone number, or the network id if it is unknown. */
function mentionOf(id: string): string {
  return /^([0-9]{8,15})(?::[0-9]+)?@s\.whatsapp\.net$/.exec(id)?.[1] ?? networkId(id);
}

/** Returns the network id without the device. */
export function networkId(id: string): string {
  return toNetworkId(id).replace(/:[0-9]+@/, '@');
}
