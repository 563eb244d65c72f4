import {
  decodeMessageNode,
  jidNormalizedUser,
  proto,
  unpadRandomMax16,
  type AuthenticationCreds,
} from '@whiskeysockets/baileys';
import type { JournalEntry } from '../journal.js';

/** A decoded message: who wrote what, where and when. */
export interface Envelope {
  id: string;
  chat: string;
  /** The author: the contact, a member of the group, or this instance. */
  from: string;
  /** The author's other id; for a message of this instance, the chat's other id. */
  alt: string | null;
  fromMe: boolean;
  isGroup: boolean;
  name: string | null;
  at: Date;
  /** Secret that decrypts replies and edits. */
  secret: Uint8Array | null;
  message: proto.IMessage;
}

export interface OwnIds {
  jid: string;
  lid: string | null;
}

export function getOwnIds({ me }: Pick<AuthenticationCreds, 'me'>): OwnIds {
  return { jid: jidNormalizedUser(me?.id), lid: me?.lid ? jidNormalizedUser(me.lid) : null };
}

/** Fields that wrap the content, in any order. */
const WRAPPERS = [
  'ephemeralMessage',
  'viewOnceMessage',
  'viewOnceMessageV2',
  'viewOnceMessageV2Extension',
  'documentWithCaptionMessage',
  'editedMessage',
  'botInvokeMessage',
  'groupMentionedMessage',
  'lottieStickerMessage',
  'associatedChildMessage',
  'pollCreationMessageV4',
  'botForwardedMessage',
] as const;
const MAX_DEPTH = 6;

export function unwrapMessage(message: proto.IMessage): proto.IMessage {
  let inner = message;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const holder = inner;
    const wrapper = WRAPPERS.find((name) => holder[name]?.message);
    if (!wrapper) return inner;
    inner = holder[wrapper]!.message!;
  }
  return inner;
}

/** Decodes a message from another device of the same account to this one. Null for all other messages. */
export function decodePeerMessage({ attrs, plaintext }: JournalEntry, own: OwnIds): proto.IMessage | null {
  if (attrs['category'] !== 'peer') return null;
  const from = normaliseJid(attrs['from']);
  return from === own.jid || from === own.lid ? decodeMessage(plaintext) : {};
}

export function decodeEnvelope({ attrs, plaintext }: JournalEntry, own: OwnIds): Envelope | null {
  return buildEnvelope(attrs, decodeMessage(plaintext), own);
}

/** Null for stanzas outside conversations: status posts and channels. */
export function buildEnvelope(
  attrs: Record<string, string>,
  message: proto.IMessage,
  own: OwnIds,
): Envelope | null {
  const { fullMessage } = decodeMessageNode({ tag: 'message', attrs, content: [] }, own.jid, own.lid ?? '');
  const { remoteJid, participant, id } = fullMessage.key;
  const fromMe = fullMessage.key.fromMe === true;
  const chat = normaliseJid(remoteJid);
  const isGroup = chat.endsWith('@g.us');
  if (!isGroup && !DIRECT.test(chat)) return null;
  const author = isGroup ? normaliseJid(participant) : chat;
  const secret = message.messageContextInfo?.messageSecret;
  return {
    id: id!,
    chat,
    from: fromMe ? own.jid : author,
    alt: findAltId(attrs, fromMe),
    fromMe,
    isGroup,
    name: attrs['notify']?.slice(0, MAX_NAME) ?? null,
    at: new Date(Number(attrs['t']) * 1_000 || Date.now()),
    secret: secret?.length === SECRET_BYTES ? secret : null,
    message: unwrapMessage(message),
  };
}

/** A secret of another length decrypts nothing. */
const SECRET_BYTES = 32;

const DIRECT = /@(s\.whatsapp\.net|lid)$/;
const MAX_NAME = 300;

const normaliseJid = (jid: string | null | undefined): string => jidNormalizedUser(jid ?? undefined);

/** The message itself; for a message sent from another device of the account, the sent one. */
function decodeMessage(plaintext: Buffer): proto.IMessage {
  const whole = proto.Message.decode(unpadRandomMax16(plaintext));
  return whole.deviceSentMessage?.message ?? whole;
}

/** The other id of the sender, if the network states it; for a message of this instance, that of the chat. */
function findAltId(attrs: Record<string, string>, fromMe: boolean): string | null {
  const names = fromMe
    ? ['recipient_pn', 'peer_recipient_pn', 'recipient_lid', 'peer_recipient_lid']
    : ['participant_pn', 'sender_pn', 'participant_lid', 'sender_lid'];
  const found = names.map((name) => attrs[name]).find((value) => value !== undefined);
  return found === undefined ? null : jidNormalizedUser(found);
}
