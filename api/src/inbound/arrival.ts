import { newUuid, parseUuidTime } from '@gwk/core/ids';
import type { InboundMessage, LeaseIdentity } from '@gwk/core/protocol/engine';
import { parseRecipient, type Recipient } from '@gwk/core/recipients';

/**
 * A message on its way in: as an engine tells it, or as a consumer makes it up for a sandbox. `tap`: a mark put on or
 * taken off one option of a poll, which only a sandbox can say that way.
 */
export interface Incoming extends InboundMessage {
  tap?: { option_id: string; label: string | null; poll_wa_message_id: string | null };
}

/** One message for one instance. `lease` is null where no engine brings it. */
export interface InboundItem {
  instanceId: string;
  lease: LeaseIdentity | null;
  message: Incoming;
  /** The id to write it under, where it has to be found again. */
  messageId?: string;
}

export interface Arrival {
  /** Of its item in the group, counted from 1. */
  place: number;
  instanceId: string;
  lease: LeaseIdentity | null;
  messageId: string;
  message: Incoming;
  chat: Recipient;
  /** Null for the number itself and for forms that are nobody's. */
  sender: Recipient | null;
  /** The other name of the contact, or of the sender within a group. */
  alt: string | null;
  /** When it was sent, by the network's clock; never in the future. */
  at: Date;
}

/** Null for chats of other kinds (broadcasts, channels): they have no conversation here. */
export function arrivalOf(item: InboundItem, place: number): Arrival | null {
  const { instanceId, lease, message } = item;
  const chat = parseRecipient(message.chat);
  if (!chat) return null;
  const messageId = item.messageId ?? newUuid();
  const alt = message.alt ? parseRecipient(message.alt) : null;
  return {
    place,
    instanceId,
    lease,
    messageId,
    message,
    chat,
    sender: message.from_me ? null : parseRecipient(message.from),
    alt: alt?.kind === 'contact' ? alt.name : null,
    at: new Date(Math.min(Date.parse(message.at), parseUuidTime(messageId))),
  };
}

/** The id of the first event of a message that comes in: it is found by the message's own (quotes are made of it). */
export function successorOf(uuid: string): string {
  return idBehind(uuid, 1);
}

/** The id so many places behind another one. */
export function idBehind(uuid: string, places: number): string {
  const next = BigInt(`0x${uuid.replaceAll('-', '')}`) + BigInt(places);
  return next
    .toString(16)
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** The two names that the message says are one contact's; of members of a group only where one is known. */
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

/** The longest text that can be a number, the name of an option or a word. */
const MAX_TYPED = 300;

/** Text as somebody else typed it, where it may be an answer or a word: no caption, no click, nothing of our own. */
export function typedText({ message }: Arrival): string | null {
  const { from_me, type, text, click, vote, tap, change } = message;
  const isTyped = !from_me && type === 'text' && !click && !vote && !tap && !change;
  return isTyped && text !== null && text.length <= MAX_TYPED ? text : null;
}

/** The network id of the message that was clicked, voted on, or changed. */
export function targetOf({ message: { click, vote, tap, change } }: Arrival): string | null {
  return (
    click?.in_reply_to_wa_message_id ??
    vote?.poll_wa_message_id ??
    tap?.poll_wa_message_id ??
    change?.wa_message_id ??
    null
  );
}

/** Whether the newest menu of the conversation has a say in what the message is. */
export function readsMenus(arrival: Arrival): boolean {
  const { click, tap } = arrival.message;
  return typedText(arrival) !== null || (targetOf(arrival) === null && Boolean(click ?? tap));
}

/** A direct chat has one voter, whatever their name. */
export function voterOf({ chat, sender, message }: Arrival): string | null {
  if (!message.vote && !message.tap) return null;
  return chat.kind === 'group' ? (sender?.name ?? message.from) : '';
}

/** The file that an engine has brought before. */
export function mediaIdOf({ message: { media } }: Arrival): string | null {
  return media && 'media_id' in media ? media.media_id : null;
}
