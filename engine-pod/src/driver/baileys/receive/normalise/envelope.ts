import {
  decodeMessageNode,
  proto,
  unpadRandomMax16,
  type AuthenticationCreds,
} from '@whiskeysockets/baileys';
import { decidePlace } from '@gwk/core/ids/addresses';
import { pairNames, parseUsername } from '@gwk/core/ids/recipients';
import type { JournalEntry } from '../journal.js';
import { isListJid } from '../queue/ordered-intake.js';
import { isForApps, isInvisible } from './kinds.js';
import { limitName } from './text.js';
import { findUnknownContent } from './unknown-fields.js';
import { unwrapMessage, type Content } from './unwrap.js';
import { normaliseJid, readTime } from '../../stanza-attrs.js';

/** A decoded message: who wrote what, where and when. */
export interface Envelope {
  id: string;
  chat: string;
  /** The author: the contact, a member of the group, or this instance. */
  from: string;
  /** The author's other id; for a message of this instance, the chat's other id. */
  alt: string | null;
  /** The username of the author; for a message of this instance, of the chat. */
  username: string | null;
  fromMe: boolean;
  /** The broadcast list by which the contact sent it. */
  list?: string;
  isGroup: boolean;
  name: string | null;
  at: Date;
  /** Secret that decrypts replies and edits. */
  secret: Uint8Array | null;
  /** The content without its wrappers. */
  content: Content;
}

export interface OwnIds {
  jid: string;
  lid: string | null;
}

export function getOwnIds({ me }: Pick<AuthenticationCreds, 'me'>): OwnIds {
  return { jid: normaliseJid(me?.id), lid: me?.lid ? normaliseJid(me.lid) : null };
}

/** Decodes a message from another device of the same account to this one. Null for all other messages. */
export function decodePeerMessage({ attrs, plaintext }: JournalEntry, own: OwnIds): proto.IMessage | null {
  if (attrs['category'] !== 'peer') return null;
  const from = normaliseJid(attrs['from']);
  return from === own.jid || from === own.lid ? decodeMessage(plaintext) : {};
}

export function decodeEnvelope({ attrs, plaintext }: JournalEntry, own: OwnIds): Envelope | null {
  const encoded = unpadRandomMax16(plaintext);
  const content = unwrapMessage(proto.Message.decode(encoded));
  if (!isInvisible(content.message) || isForApps(content.message)) return buildEnvelope(attrs, content, own);
  const unknown = findUnknownContent(encoded);
  if (!unknown) return buildEnvelope(attrs, content, own);
  return buildEnvelope(attrs, mergeUnknown(content, unwrapMessage(unknown.message ?? {})), own);
}

/** The content of an unknown wrapper, with the facts from the known wrappers around it. */
function mergeUnknown(outer: Content, inner: Content): Content {
  const kind = outer.kind ?? inner.kind ?? (isInvisible(inner.message) ? 'unknown' : undefined);
  return {
    message: inner.message,
    context: { ...inner.context, ...outer.context },
    isViewOnce: outer.isViewOnce || inner.isViewOnce,
    ...(kind !== undefined && { kind }),
  };
}

/** Null for stanzas outside conversations: status posts and channels. */
export function buildEnvelope(attrs: Record<string, string>, content: Content, own: OwnIds): Envelope | null {
  const place = attrs['recipient'] ?? attrs['from'] ?? '';
  if (decidePlace(normaliseJid(place)) === 'ignored') return null;
  const origin = decidePlace(place) === 'unknown' ? null : findOrigin(attrs, own);
  return describe(attrs, origin ?? findUnknownOrigin(attrs, own), {
    content: origin ? content : { ...content, kind: 'unknown' },
    own,
  });
}

/** A message of which nothing but the stanza can be read. Null without an id. */
export function buildUnreadEnvelope(attrs: Record<string, string>, own: OwnIds): Envelope | null {
  return attrs['id'] ? buildEnvelope(attrs, { ...unwrapMessage({}), kind: 'unknown' }, own) : null;
}

function describe(
  attrs: Record<string, string>,
  place: MessageOrigin,
  { content, own }: { content: Content; own: OwnIds },
): Envelope {
  const { chat, author, fromMe, list } = place;
  const secret = content.context.messageSecret;
  return {
    id: attrs['id']!,
    chat,
    from: fromMe ? own.jid : author,
    alt: findAltId(attrs, place, own),
    username: findUsername(attrs, place),
    fromMe,
    ...(list !== undefined && { list }),
    isGroup: isGroupJid(chat),
    name: limitName(attrs['notify'], MAX_NAME),
    at: new Date(readTime(attrs['t'])),
    secret: secret?.length === SECRET_BYTES ? secret : null,
    content,
  };
}

interface MessageOrigin {
  chat: string;
  author: string;
  fromMe: boolean;
  list?: string;
}

/** Null for a stanza that Baileys does not understand. A message that came by a broadcast list is an ordinary message of its sender. */
function findOrigin(attrs: Record<string, string>, own: OwnIds): MessageOrigin | null {
  const key = findKey(attrs, own);
  if (key === null) return null;
  const { remoteJid, participant, fromMe } = key;
  const chat = toOneOwnId(normaliseJid(remoteJid), own);
  if (DIRECT.test(chat)) return { chat, author: chat, fromMe: fromMe === true };
  const author = normaliseJid(participant);
  if (isGroupJid(chat)) return { chat, author, fromMe: fromMe === true };
  if (!isListJid(chat) || !DIRECT.test(author)) return null;
  const isOwn = author === own.jid || author === own.lid;
  return isOwn ? { chat, author, fromMe: true } : { chat: author, author, fromMe: false, list: chat };
}

function findKey(attrs: Record<string, string>, own: OwnIds): proto.IMessageKey | null {
  try {
    return decodeMessageNode({ tag: 'message', attrs, content: [] }, own.jid, own.lid ?? '').fullMessage.key;
  } catch {
    return null;
  }
}

/** The place as the network names it. */
function findUnknownOrigin(
  { from, recipient, participant }: Record<string, string>,
  own: OwnIds,
): MessageOrigin {
  const [chat, author] = [normaliseJid(recipient ?? from), normaliseJid(participant ?? from)];
  return { chat, author, fromMe: author === own.jid || author === own.lid };
}

const isGroupJid = (jid: string): boolean => jid.endsWith('@g.us');

/** Notes to oneself have one address, whichever of the own ids they came by. */
function toOneOwnId(chat: string, own: OwnIds): string {
  return chat === own.jid ? (own.lid ?? chat) : chat;
}

/** A secret of another length decrypts nothing. */
const SECRET_BYTES = 32;

const DIRECT = /@(s\.whatsapp\.net|lid)$/;
const MAX_NAME = 300;

/** The message itself; for a message sent from another device of the account, the sent one. */
function decodeMessage(plaintext: Buffer): proto.IMessage {
  const whole = proto.Message.decode(unpadRandomMax16(plaintext));
  return whole.deviceSentMessage?.message ?? whole;
}

/** The other id of the sender, if the network states it; for a message of this instance, that of the chat. */
function findAltId(
  attrs: Record<string, string>,
  { chat, author, fromMe }: MessageOrigin,
  { jid, lid }: OwnIds,
): string | null {
  if (chat === lid) return jid;
  const own = fromMe ? chat : author;
  const names = fromMe
    ? ['recipient_pn', 'peer_recipient_pn', 'recipient_lid', 'peer_recipient_lid']
    : ['participant_pn', 'sender_pn', 'participant_lid', 'sender_lid'];
  for (const name of names) {
    const stated = attrs[name];
    if (stated === undefined) continue;
    const id = normaliseJid(stated);
    if (pairNames(own, id) !== null) return id;
  }
  return null;
}

/**
 * The username that the network states of the other side. `recipient_username` of a message of others would be the own one,
 * or a text of the sender.
 */
function findUsername(attrs: Record<string, string>, { chat, fromMe }: MessageOrigin): string | null {
  if (fromMe && isGroupJid(chat)) return null;
  const names = fromMe
    ? ['peer_recipient_username', 'recipient_username']
    : ['participant_username', 'username'];
  return parseUsername(names.map((name) => attrs[name]).find((stated) => stated !== undefined));
}
