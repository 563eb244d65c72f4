import { createDecipheriv, hkdfSync } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { Envelope, OwnIds } from './envelope.js';
import { normaliseJid } from '../../stanza-attrs.js';

type Vote = NonNullable<InboundMessage['vote']>;

const { MESSAGE_EDIT } = proto.Message.ProtocolMessage.Type;
const EDIT_ENCRYPTED = proto.Message.SecretEncryptedMessage.SecretEncType.MESSAGE_EDIT;
const MAX_CHOSEN = 12;
const KEY_LENGTH = 32;
const TAG_LENGTH = 16;

/** The id of the message that an encrypted edit changes; undefined for other encrypted content. */
export function findEncryptedEditTarget({
  secretEncryptedMessage: sealed,
}: proto.IMessage): string | undefined {
  return sealed?.secretEncType === EDIT_ENCRYPTED ? (sealed.targetMessageKey?.id ?? undefined) : undefined;
}

/** The ids under which an author's secrets are stored, and for which a reply is encrypted. */
export function listAuthorIds({ from, alt, fromMe }: Envelope, own: OwnIds): string[] {
  return [from, fromMe ? own.lid : alt].filter((name) => name !== null);
}

/** Decrypts an edit into the form of a plain one. Null when that is not possible. */
export function decryptEdit(
  { secretEncryptedMessage: sealed }: proto.IMessage,
  names: readonly string[],
  secret: Uint8Array,
): proto.IMessage | null {
  const key = sealed?.targetMessageKey;
  if (!key?.id) return null;
  const context = { id: key.id, secret, authors: names, repliers: names, use: 'Message Edit' };
  return decryptReply(sealed!, context, (plain) => toPlainEdit(proto.Message.decode(plain), key));
}

/**
 * The content is a whole edit or only the new content. The edited message is always the one whose secret decrypted
 * it.
 */
function toPlainEdit(inner: proto.IMessage, key: proto.IMessageKey): proto.IMessage {
  const { protocolMessage } = inner;
  const editedMessage = protocolMessage?.type === MESSAGE_EDIT ? protocolMessage.editedMessage : inner;
  return { protocolMessage: { type: MESSAGE_EDIT, key, editedMessage: editedMessage ?? null } };
}

/** The id of the poll, if it may be one of this instance. Voters write the key of the poll from their own view. */
export function findOwnPoll({ content, fromMe, isGroup }: Envelope, own: OwnIds): string | null {
  const key = content.message.pollUpdateMessage?.pollCreationMessageKey;
  if (!key?.id) return null;
  const author = normaliseJid(key.participant);
  const isOther =
    isGroup && key.fromMe !== true ? author !== '' && !isOwn(author, own) : (key.fromMe === true) !== fromMe;
  return isOther ? null : key.id;
}

const isOwn = (jid: string, { jid: phone, lid }: OwnIds): boolean => jid === phone || jid === lid;

/** Decrypts a vote in a poll. Null if the poll has another secret. */
export function decryptVote(envelope: Envelope, own: OwnIds, secret: Uint8Array): Vote | null {
  const { pollUpdateMessage: update } = envelope.content.message;
  const id = update?.pollCreationMessageKey?.id;
  if (!update?.vote || !id) return null;
  const context = {
    ...{ id, secret },
    authors: [own.jid, own.lid].filter((name) => name !== null),
    repliers: listAuthorIds(envelope, own),
    use: VOTE,
  };
  return decryptReply(update.vote, context, (plain) => {
    const { selectedOptions } = proto.Message.PollVoteMessage.decode(plain);
    const chosen = selectedOptions.slice(0, MAX_CHOSEN).map((option) => Buffer.from(option).toString('hex'));
    return { poll_wa_message_id: id.slice(0, 200), chosen };
  });
}

const VOTE = 'Poll Vote';

interface ReplyContext {
  /** Id of the message that is replied to. */
  id: string;
  /** Secret of that message. */
  secret: Uint8Array;
  /** Ids of the author of that message. */
  authors: readonly string[];
  repliers: readonly string[];
  use: string;
}

/**
 * Decrypts a reply to a message. Its key derives from the ids by which the apps of author and replier know
 * themselves. The reply does not state these ids, so each pair is tried. Null when no pair fits.
 */
function decryptReply<T>(
  { encPayload, encIv }: proto.Message.IPollEncValue,
  { id, secret, authors, repliers, use }: ReplyContext,
  decode: (plain: Uint8Array) => T,
): T | null {
  if (!encPayload || !encIv) return null;
  const end = encPayload.length - TAG_LENGTH;
  const pairs = authors.flatMap((author) => repliers.map((replier) => ({ author, replier })));
  for (const { author, replier } of pairs) {
    try {
      const key = hkdfSync('sha256', secret, '', `${id}${author}${replier}${use}`, KEY_LENGTH);
      const decipher = createDecipheriv('aes-256-gcm', Buffer.from(key), encIv);
      if (use === VOTE) decipher.setAAD(Buffer.from(`${id}\0${replier}`));
      decipher.setAuthTag(encPayload.subarray(end));
      return decode(Buffer.concat([decipher.update(encPayload.subarray(0, end)), decipher.final()]));
    } catch {
      // Another pair may fit.
    }
  }
  return null;
}
