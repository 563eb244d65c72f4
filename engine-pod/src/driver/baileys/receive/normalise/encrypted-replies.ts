import { createDecipheriv, hkdfSync } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import type { Envelope, OwnIds } from './envelope.js';

const { MESSAGE_EDIT } = proto.Message.ProtocolMessage.Type;
const EDIT_ENCRYPTED = proto.Message.SecretEncryptedMessage.SecretEncType.MESSAGE_EDIT;
const USE = 'Message Edit';
const KEY_LENGTH = 32;
const TAG_LENGTH = 16;

/** The id of the message that an encrypted edit changes; undefined for other encrypted content. */
export function findEncryptedEditTarget({
  secretEncryptedMessage: sealed,
}: proto.IMessage): string | undefined {
  return sealed?.secretEncType === EDIT_ENCRYPTED ? (sealed.targetMessageKey?.id ?? undefined) : undefined;
}

/** The ids under which an author's secrets are stored, and for which an edit is encrypted. */
export function listAuthorIds({ from, alt, fromMe }: Envelope, own: OwnIds): string[] {
  return [from, fromMe ? own.lid : alt].filter((name) => name !== null);
}

/**
 * Decrypts an edit into the form of a plain one. Its key derives from the secret of the edited message and from the
 * ids by which the author's app knows itself. The edit does not state these ids, so each pair is tried. Null when
 * no pair fits.
 */
export function decryptEdit(
  { secretEncryptedMessage: sealed }: proto.IMessage,
  names: readonly string[],
  secret: Uint8Array,
): proto.IMessage | null {
  const key = sealed?.targetMessageKey;
  if (!sealed?.encPayload || !sealed.encIv || !key?.id) return null;
  for (const author of names) {
    for (const editor of names) {
      const use = Buffer.from(`${key.id}${author}${editor}${USE}`);
      const plain = tryDecrypt(
        sealed.encPayload,
        sealed.encIv,
        hkdfSync('sha256', secret, '', use, KEY_LENGTH),
      );
      if (plain) return toPlainEdit(proto.Message.decode(plain), key);
    }
  }
  return null;
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

function tryDecrypt(payload: Uint8Array, iv: Uint8Array, key: ArrayBuffer): Buffer | null {
  try {
    const end = payload.length - TAG_LENGTH;
    const decipher = createDecipheriv('aes-256-gcm', Buffer.from(key), iv);
    decipher.setAuthTag(payload.subarray(end));
    return Buffer.concat([decipher.update(payload.subarray(0, end)), decipher.final()]);
  } catch {
    return null;
  }
}
