import { unlink } from 'node:fs/promises';
import { encryptedStream, isJidGroup, type MediaType } from '@whiskeysockets/baileys';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import { KeyedLock } from '@gwk/core/async/keyed-lock';
import { SendFailure, type DriverContext } from '../../driver.js';
import type { NetworkConnection } from '../connection/network-connection.js';
import { askNetwork } from './ask-network.js';

/** Longest time without a byte. A host may take a while to answer after the last one. */
const UPLOAD_MS = 120_000;

/** Files above this size are uploaded one after the other, because each occupies the disk of the engine. */
const LARGE_BYTES = 16_000_000;
const turns = new KeyedLock();

export interface FileToUpload {
  message: ClaimedMessage;
  /** Selects the keys of the file. */
  mediaType: MediaType;
  /** In hex. */
  sha256: string;
  size: number;
  timeoutMs?: number;
}

/** File fields of the network's own messages, for every type of file. */
export type UploadedFile = Awaited<ReturnType<typeof uploadFile>>;

/**
 * Uploads the finished file of a message, encrypted with a key of its own. The encrypted bytes go through a
 * temporary file, so the size costs no memory. It never fetches an address that a customer gave. A file for a group
 * that would refuse the message is not uploaded.
 * @throws SendFailure
 */
export async function uploadFile(
  { media, groups }: Pick<NetworkConnection, 'media' | 'groups'>,
  context: Pick<DriverContext, 'readFile' | 'instanceId'>,
  file: FileToUpload,
) {
  const { chat } = file.message;
  if (isJidGroup(chat)) await groups.requireMaySend(chat);
  const upload = () => encryptAndUpload(media, context, file);
  return file.size > LARGE_BYTES ? turns.run(context.instanceId, upload) : upload();
}

async function encryptAndUpload(
  hosts: NetworkConnection['media'],
  { readFile }: Pick<DriverContext, 'readFile'>,
  { message, mediaType, sha256, timeoutMs = UPLOAD_MS }: FileToUpload,
) {
  const encrypted = await readFile(message.message_id, (stream) =>
    encryptedStream({ stream }, mediaType),
  ).catch((error: unknown) => {
    throw error instanceof InternalApiRefusal ? unavailable() : error;
  });
  try {
    if (Buffer.from(encrypted.fileSha256).toString('hex') !== sha256) throw unavailable();
    const { mediaKey, fileSha256, fileEncSha256, fileLength } = encrypted;
    const sent = { mediaType, sha256: Buffer.from(fileEncSha256), timeoutMs };
    const { url, directPath } = await askNetwork(() => hosts.upload(encrypted.encFilePath, sent));
    const mediaKeyTimestamp = Math.floor(Date.now() / 1_000);
    return { url, directPath, mediaKey, fileSha256, fileEncSha256, fileLength, mediaKeyTimestamp };
  } finally {
    await unlink(encrypted.encFilePath).catch(() => undefined);
  }
}

const unavailable = () => SendFailure.refused('media_unavailable', 'the file no longer exists');
