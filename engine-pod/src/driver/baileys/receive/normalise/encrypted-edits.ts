import { createDecipheriv, hkdfSync } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import type { Envelope, OwnIds } from './envelope.js';

const { MESSAGE_EDIT } = proto.Message.ProtocolMessage.Type;
const EDIT_ENCRYPTED = proto.Message.SecretEncryptedMessage.SecretEncType.MESSAGE_EDIT;
const USE = 'Message Edit';
const KEY_LENGTH = 32;
const TAG_LENGTH = 16;

/** The message that a sealed edit is of; undefined for everything else that is sealed in this way. */
export function findEncryptedEditTarget({
  secretEncryptedMessage: sealed,
}: proto.IMessage): string | undefined {
  return sealed?.secretEncType === EDIT_ENCRYPTED ? (sealed.targetMessageKey?.id ?? undefined) : undefined;
}

/** Under which an author's secrets are kept, and for which an edit is sealed. */
export function listAuthorIds({ from, alt, fromMe }: Envelope, own: OwnIds): string[] {
  return [from, fromMe ? own.lid : alt].filter((name) => name !== null);
}

/**
 * The edit as apps send it in the open. It is sealed with the secret of the message that it changes, for the names by
 * which its author's app knows itself, which it does not tell: each pair is tried. Null for one that cannot be read.
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

/** What is sealed is the whole edit, or the new content alone. What it changes is what the seal was made for. */
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
