import { createCipheriv, randomBytes } from 'node:crypto';
import { hkdf, proto } from '@whiskeysockets/baileys';
import { unwrap } from '../people/contents.js';
import type { World } from '../world.js';
import { decryptFile, encryptFile, type FileKind } from './encrypted-file.js';

export type MediaKind = Exclude<FileKind, 'history' | 'link'>;

export interface MediaFields {
  mimetype?: string;
  caption?: string;
  fileName?: string;
  seconds?: number;
  /** A voice message. */
  ptt?: boolean;
}

const TYPES: Record<MediaKind, string> = {
  image: 'image/png',
  video: 'video/mp4',
  audio: 'audio/ogg; codecs=opus',
  document: 'application/octet-stream',
  sticker: 'image/webp',
};

/**
 * Encrypts and uploads a file.
 * @returns the message that refers to it
 */
export function fileMessage(
  world: World,
  kind: MediaKind,
  { bytes, fields = {} }: { bytes: Buffer; fields?: MediaFields },
): proto.IMessage {
  const { bytes: sealed, ...reference } = encryptFile(bytes, kind);
  const place = mediaOf(world).put(sealed, 'phone');
  world.keptFiles.set(place.directPath, sealed);
  const content = {
    ...place,
    ...reference,
    mimetype: TYPES[kind],
    mediaKeyTimestamp: Math.floor(Date.now() / 1000),
    ...fields,
  };
  return { [`${kind}Message`]: content };
}

/** The HD version of the picture or film with this id. Apps that do not know HD show nothing of it. */
export function hdVersion(kind: 'image' | 'video', message: proto.IMessage, id: string): proto.IMessage {
  const { HD_IMAGE_DUAL_UPLOAD, HD_VIDEO_DUAL_UPLOAD } = proto.MessageAssociation.AssociationType;
  const associationType = kind === 'image' ? HD_IMAGE_DUAL_UPLOAD : HD_VIDEO_DUAL_UPLOAD;
  const messageAssociation = { associationType, parentMessageKey: { fromMe: true, id } };
  return { associatedChildMessage: { message }, messageContextInfo: { messageAssociation } };
}

const FIELDS = [
  ...(Object.keys(TYPES) as MediaKind[]).map((kind) => [`${kind}Message`, kind] as const),
  ['ptvMessage', 'video'] as const,
];

interface FileInMessage {
  kind: FileKind;
  reference: { mediaKey: Uint8Array; fileSha256: Uint8Array; fileEncSha256: Uint8Array; directPath: string };
}

/** The file of a message or the picture of its link preview, with the data needed to decrypt it. */
export function fileIn(message: proto.IMessage | undefined): FileInMessage | undefined {
  const inner = unwrap(message) as
    Record<string, Partial<FileInMessage['reference']> | undefined> | undefined;
  for (const [field, kind] of FIELDS) {
    const { mediaKey, fileSha256, fileEncSha256, directPath } = inner?.[field] ?? {};
    if (mediaKey && fileSha256 && fileEncSha256 && directPath) {
      return { kind, reference: { mediaKey, fileSha256, fileEncSha256, directPath } };
    }
  }
  return linkPictureIn(unwrap(message)?.extendedTextMessage ?? {});
}

function linkPictureIn({
  mediaKey,
  thumbnailSha256: fileSha256,
  thumbnailEncSha256: fileEncSha256,
  thumbnailDirectPath: directPath,
}: proto.Message.IExtendedTextMessage): FileInMessage | undefined {
  if (!mediaKey || !fileSha256 || !fileEncSha256 || !directPath) return undefined;
  return { kind: 'link', reference: { mediaKey, fileSha256, fileEncSha256, directPath } };
}

/** A person opens the file of a message. */
export function openFileIn(world: World, message: proto.IMessage | undefined): Buffer {
  const file = fileIn(message);
  if (!file) throw new Error('the message brings no file');
  const stored = mediaOf(world).get(file.reference.directPath);
  if (!stored) throw new Error('the file is not on the media hosts');
  return decryptFile(stored.bytes, file.reference, file.kind);
}

/** The phone's answer to a media retry request: the new location, encrypted with the key of the file. */
export function movedNotice(mediaKey: Uint8Array, id: string, directPath: string) {
  const { SUCCESS } = proto.MediaRetryNotification.ResultType;
  const plain = proto.MediaRetryNotification.encode({ stanzaId: id, directPath, result: SUCCESS }).finish();
  const key = Buffer.from(hkdf(Buffer.from(mediaKey), 32, { info: 'WhatsApp Media Retry Notification' }));
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(Buffer.from(id));
  return { iv, ciphertext: Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]) };
}

function mediaOf(world: World) {
  if (!world.media) throw new Error('this network has no media hosts');
  return world.media;
}
