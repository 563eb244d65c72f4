import { MAX_TYPED } from '@gwk/core/text-folding';
import { newUuid, parseUuidTime } from '@gwk/core/ids';
import type { LeaseIdentity } from '@gwk/core/protocol/engine';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { parseRecipient, type Recipient } from '@gwk/core/recipients';

/**
 * An inbound message, from an engine or from a consumer for a sandbox. `tap` toggles one option of a poll; only a sandbox
 * reports votes this way.
 */
export interface Incoming extends InboundMessage {
  tap?: { option_id: string; label: string | null; poll_wa_message_id: string | null };
}

/** One message for one instance. `lease` is null for sandbox messages from consumers. */
export interface InboundItem {
  instanceId: string;
  lease: LeaseIdentity | null;
  message: Incoming;
  /** Id of the message (default: a new one). */
  messageId?: string;
}

export interface Arrival extends Required<InboundItem> {
  /** Place of its item in the batch, from 1. */
  place: number;
  chat: Recipient;
  /** Null for the instance's own account and for unknown forms. */
  sender: Recipient | null;
  /** The other name of the contact, or of the sender in a group. */
  alt: string | null;
  /** Time of sending by the network's clock, at most the time of the message id. */
  at: Date;
}

/** Returns null for other kinds of chats (broadcasts, channels), which have no conversation in gwk. */
export function parseArrival(item: InboundItem, place: number): Arrival | null {
  const { message } = item;
  const chat = parseRecipient(message.chat);
  if (!chat) return null;
  const messageId = item.messageId ?? newUuid();
  const alt = message.alt ? parseRecipient(message.alt) : null;
  return {
    ...item,
    place,
    messageId,
    chat,
    sender: message.from_me ? null : parseRecipient(message.from),
    alt: alt?.kind === 'contact' ? alt.name : null,
    at: new Date(Math.min(Date.parse(message.at), parseUuidTime(messageId))),
  };
}

/** Returns the id of the first event of an inbound message, which derives from the message id (used for quotes). */
export function firstEventId(uuid: string): string {
  return idAfter(uuid, 1);
}

/** Returns the id that is `places` after another. */
export function idAfter(uuid: string, places: number): string {
  const next = BigInt(`0x${uuid.replaceAll('-', '')}`) + BigInt(places);
  return next
    .toString(16)
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Returns two names that the message shows to belong to one contact; for group members only if one of them is known. */
export function namesToLink(
  { chat, sender, alt }: Arrival,
  known: { contactId: string | null; senderId: string | null; altId: string | null },
): [string, string] | null {
  const name = chat.kind === 'group' ? sender?.name : chat.name;
  if (alt === null || name === undefined || name === alt) return null;
  const id = chat.kind === 'group' ? known.senderId : known.contactId;
  if (id !== null && id === known.altId) return null;
  return chat.kind === 'group' && id === null && known.altId === null ? null : [name, alt];
}

/** Returns text that a contact typed, which may be an answer or an opt-out word; null for captions, clicks and own messages. */
export function typedText({ message }: Arrival): string | null {
  const { from_me, type, text, click, vote, tap, change } = message;
  const isTyped = !from_me && type === 'text' && !click && !vote && !tap && !change;
  return isTyped && text !== null && text.length <= MAX_TYPED ? text : null;
}

/** Returns the network id of the message that was clicked, voted on, edited or deleted. */
export function targetId({ message: { click, vote, tap, change } }: Arrival): string | null {
  return (
    click?.in_reply_to_wa_message_id ??
    vote?.poll_wa_message_id ??
    tap?.poll_wa_message_id ??
    change?.wa_message_id ??
    null
  );
}

/** Whether the newest menu of the conversation may be the target of the message. */
export function readsMenus(arrival: Arrival): boolean {
  const { click, tap } = arrival.message;
  return typedText(arrival) !== null || (targetId(arrival) === null && Boolean(click ?? tap));
}

/** Returns the voter; empty in a direct chat, which has one voter. */
export function findVoter({ chat, sender, message }: Arrival): string | null {
  if (!message.vote && !message.tap) return null;
  return chat.kind === 'group' ? (sender?.name ?? message.from) : '';
}

/** Returns the id of the file that the engine uploaded for the message. */
export function mediaId({ message: { media } }: Arrival): string | null {
  return media && 'media_id' in media ? media.media_id : null;
}
