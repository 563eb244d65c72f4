import type { Caller } from '../accounts/caller.js';
import { MAX_TYPED } from '@gwk/core/text/text-folding';
import { newUuid, parseUuidTime } from '@gwk/core/ids/ids';
import { decidePlace } from '@gwk/core/ids/addresses';
import type { LeaseIdentity } from '@gwk/core/protocol/engine';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import {
  canonicalPhone,
  pairNames,
  parseRecipient,
  toNetworkId,
  type LinkedNames,
  type Recipient,
} from '@gwk/core/ids/recipients';

/**
 * An inbound message, from an engine or from a consumer for a sandbox. `tap` toggles one option of a poll; only a sandbox
 * reports votes this way.
 */
export interface Incoming extends InboundMessage {
  tap?: { option_id: string; label: string | null; poll_wa_message_id: string | null };
}

/** One message for one instance, from its engine (`lease`) or, for a sandbox, from a consumer (`caller`). */
export interface InboundItem {
  instanceId: string;
  lease: LeaseIdentity | null;
  caller?: Caller | null;
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
  /** Both names of the contact, or of the sender in a group, if the network states both. */
  link: LinkedNames | null;
  /** Time of sending by the network's clock, at most the time of the message id. */
  at: Date;
}

/** Returns null for places without messages to the instance: status posts and channels. */
export function parseArrival(item: InboundItem, place: number): Arrival | null {
  const { message } = item;
  const chat = parseRecipient(message.chat) ?? parseOwnList(message) ?? parseUnknownPlace(message);
  if (!chat) return null;
  const messageId = item.messageId ?? newUuid();
  return {
    ...item,
    caller: item.caller ?? null,
    place,
    messageId,
    chat,
    sender: message.from_me ? null : parseRecipient(message.from),
    link: message.alt ? pairNames(chat.kind === 'group' ? message.from : message.chat, message.alt) : null,
    at: new Date(Math.min(Date.parse(message.at), parseUuidTime(messageId))),
  };
}

/** The account's own broadcast list, which it writes to from a device. It is stored like a group. */
function parseOwnList({ chat, from_me }: Incoming): Recipient | null {
  return from_me && isList(chat) ? { kind: 'group', name: chat, phone: null } : null;
}

const ADDRESS = /^[\x21-\x7e]{1,80}@[a-z.]{1,20}$/;

/** A place that gwk knows nothing of. It is stored like a group, and nothing can be sent there. */
function parseUnknownPlace({ chat }: Incoming): Recipient | null {
  const isReported = ADDRESS.test(chat) && !isList(chat) && decidePlace(chat) !== 'ignored';
  return isReported ? { kind: 'group', name: chat, phone: null } : null;
}

const isList = (chat: string): boolean => /^[0-9]{1,30}@broadcast$/.test(chat);

/**
 * Whether it becomes a message in gwk: all that contacts write, and the messages from a device of the account, except its
 * votes and its broadcast lists.
 */
export const hasRow = ({ message: { from_me, vote, tap }, chat }: Arrival): boolean =>
  !from_me || !(vote ?? tap ?? isList(chat.name));

/** The name of the link that is not the chat or sender itself. */
export function otherName({ chat, sender, link }: Arrival): Recipient | null {
  if (!link) return null;
  const own = chat.kind === 'group' ? sender : chat;
  return parseRecipient(own?.phone === null ? link.phone : link.lid);
}

/**
 * Returns the names that are to be linked: of a contact unless this instance has seen the same names before, of a member of a
 * group only if one of them is known.
 */
export function namesToLink({ chat, link }: Arrival, known: KnownNames): LinkedNames | null {
  if (!link) return null;
  const { altId } = known;
  if (chat.kind === 'group') {
    const { senderId } = known;
    return senderId === altId ? null : link;
  }
  if (known.conversationId === null && known.contactId !== null && known.contactId === altId) return null;
  return known.lid === link.lid && known.phone === link.phone ? null : link;
}

interface KnownNames {
  contactId: string | null;
  conversationId: string | null;
  isSandbox: boolean | null;
  lid: string | null;
  phone: string | null;
  username: string | null;
  senderId: string | null;
  senderUsername: string | null;
  altId: string | null;
}

/**
 * Returns the contact whose stored username differs from that of the message; null: none, or it is stored with the message. A
 * sandbox stores it for its own conversation, because a consumer may write in the name of anybody there.
 */
export function findRenamed(
  arrival: Arrival,
  known: KnownNames,
): { lid: string } | { contactId: string } | null {
  const { username } = arrival.message;
  const [contactId, stored] =
    arrival.chat.kind === 'group'
      ? [known.senderId, known.senderUsername]
      : [known.contactId, known.username];
  if (username === undefined || username === stored || contactId === null) return null;
  if (known.isSandbox) return { contactId };
  const lid = findLid(arrival, known);
  return lid === null ? null : { lid };
}

function findLid({ chat, sender, link }: Arrival, { lid }: KnownNames): string | null {
  if (link) return link.lid;
  return chat.kind === 'group' ? readLid(sender) : (readLid(chat) ?? lid);
}

/** The LID by which the network names a person. */
export const readLid = (person: Recipient | null): string | null =>
  person?.phone === null ? person.name : null;

/**
 * Returns text that a contact typed, which may be an answer or an opt-out word; null for captions, clicks, status texts and own
 * messages.
 */
export function typedText({ message }: Arrival): string | null {
  const { from_me, type, kind, text, click, vote, tap, change } = message;
  const isTyped = !from_me && type === 'text' && kind === undefined && !click && !vote && !tap && !change;
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

/** The voter that is the instance's own account. */
const OWN_VOTER = 'me';

/**
 * Returns the names under which a vote of this voter may be stored. The first one is used from now on: the same for all ids of a
 * person, and empty for the contact of a direct chat. An earlier vote may have another: it came before the network named the
 * LID, or was stored by an earlier release.
 */
export function voterNames({ chat, sender, link, message }: Arrival): string[] {
  if (!message.vote && !message.tap) return [];
  const { from, from_me } = message;
  const names = [from, networkId(from)];
  if (from_me) return [...new Set([OWN_VOTER, ...names])];
  const isDirect = chat.kind === 'contact';
  const main = isDirect ? '' : (link?.lid ?? sender?.name ?? from);
  const linked = link ? [link.lid, link.phone, canonicalPhone(link.phone), toNetworkId(link.phone)] : [];
  return [...new Set([main, ...linked, ...(sender ? [sender.name] : []), ...names])];
}

/** Returns the network ids of the sender, without the device. */
export function senderIds({ message: { from, alt }, chat }: Arrival): string[] {
  const ids = chat.kind === 'group' && alt ? [from, alt] : [from];
  return ids.map(networkId);
}

/** Returns the network id without the device. */
export function networkId(id: string): string {
  return toNetworkId(id).replace(/:[0-9]+@/, '@');
}

/** Returns the id of the file that the engine uploaded for the message. */
export function mediaId({ message: { media } }: Arrival): string | null {
  return media && 'media_id' in media ? media.media_id : null;
}
