import { toPublicId } from '@gwk/core/ids';
import { toNetworkId } from '@gwk/core/recipients';
import { buildPhone, type Chat, type EventDraft, type From, type Reply } from '../events/emit.js';
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

/** Builds the event of a message: received, a reply to a menu, or sent from another device of the account. */
export function receivedEvent(arrival: Arrival, known: Known, reply?: Reply): EventDraft {
  const { messageId, message, at } = arrival;
  const { accountId, instanceId, chat } = buildSubject(arrival, known);
  const { from_me, quoted_wa_message_id } = message;
  // A click or vote without text has the text of its label.
  const text = message.text ?? reply?.label;
  const data = {
    instance_id: toPublicId('instance', instanceId),
    // A message from another device has no id in gwk.
    ...(!from_me && { message_id: toPublicId('message', messageId) }),
    wa_message_id: message.wa_message_id,
    chat,
    from: buildSender(arrival, known),
    from_me,
    timestamp: at.toISOString(),
    type: message.type,
    ...(text !== undefined && { text }),
    ...moreOf(arrival, known),
    ...(quoted_wa_message_id !== null && { quoted_wa_message_id }),
    ...(reply && { reply }),
  };
  const receivedType = reply ? 'message.interactive_reply' : 'message.received';
  return { accountId, instanceId, type: from_me ? 'message.sent_from_device' : receivedType, at, data };
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
