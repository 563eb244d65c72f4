import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { hkdf } from '@whiskeysockets/baileys';

/** The use of a file, from which its keys are derived. */
export type FileKind = 'image' | 'video' | 'audio' | 'document' | 'sticker' | 'link' | 'history';

const PURPOSES: Record<FileKind, string> = {
  image: 'WhatsApp Image Keys',
  sticker: 'WhatsApp Image Keys',
  video: 'WhatsApp Video Keys',
  audio: 'WhatsApp Audio Keys',
  document: 'WhatsApp Document Keys',
  link: 'WhatsApp Link Thumbnail Keys',
  history: 'WhatsApp History Keys',
};

const MAC_LENGTH = 10;

export interface EncryptedFile {
  mediaKey: Buffer;
  bytes: Buffer;
  fileSha256: Buffer;
  fileEncSha256: Buffer;
  fileLength: number;
}

function keysOf(mediaKey: Uint8Array, kind: FileKind) {
  const bytes = Buffer.from(hkdf(Buffer.from(mediaKey), 112, { info: PURPOSES[kind] }));
  return { iv: bytes.subarray(0, 16), cipherKey: bytes.subarray(16, 48), macKey: bytes.subarray(48, 80) };
}

const hash = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();

const mac = (macKey: Buffer, iv: Buffer, sealed: Buffer): Buffer =>
  createHmac('sha256', macKey).update(iv).update(sealed).digest().subarray(0, MAC_LENGTH);

/** Encrypts a file as apps do before an upload. */
export function encryptFile(plain: Buffer, kind: FileKind): EncryptedFile {
  const mediaKey = randomBytes(32);
  const { iv, cipherKey, macKey } = keysOf(mediaKey, kind);
  const cipher = createCipheriv('aes-256-cbc', cipherKey, iv);
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  const bytes = Buffer.concat([sealed, mac(macKey, iv, sealed)]);
  return {
    mediaKey,
    bytes,
    fileSha256: hash(plain),
    fileEncSha256: hash(bytes),
    fileLength: plain.length,
  };
}

export interface FileReference {
  mediaKey: Uint8Array;
  fileSha256: Uint8Array;
  fileEncSha256: Uint8Array;
}

/** Decrypts a file as apps do after a download, with all their checks. */
export function decryptFile(bytes: Buffer, reference: FileReference, kind: FileKind): Buffer {
  if (!hash(bytes).equals(reference.fileEncSha256))
    throw new Error('the file differs from the one that was sent');
  const { iv, cipherKey, macKey } = keysOf(reference.mediaKey, kind);
  const sealed = bytes.subarray(0, -MAC_LENGTH);
  if (!mac(macKey, iv, sealed).equals(bytes.subarray(-MAC_LENGTH))) throw new Error('the file was changed');
  const decipher = createDecipheriv('aes-256-cbc', cipherKey, iv);
  const plain = Buffer.concat([decipher.update(sealed), decipher.final()]);
  if (!hash(plain).equals(reference.fileSha256))
    throw new Error('the hash of the file differs from the one in the message');
  return plain;
}
