import { unlink } from 'node:fs/promises';
import { encryptedStream, isJidGroup, type MediaType } from '@whiskeysockets/baileys';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import { SendFailure, type DriverContext } from '../../driver.js';
import type { NetworkConnection } from '../connection/network-connection.js';
import { askNetwork } from './ask-network.js';

/** Longest upload to one host. */
const UPLOAD_MS = 120_000;

export interface FileToUpload {
  message: ClaimedMessage;
  /** Selects the keys of the file. */
  mediaType: MediaType;
  /** In hex. */
  sha256: string;
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
  { media: hosts, groups }: Pick<NetworkConnection, 'media' | 'groups'>,
  { readFile }: Pick<DriverContext, 'readFile'>,
  { message, mediaType, sha256, timeoutMs = UPLOAD_MS }: FileToUpload,
) {
  if (isJidGroup(message.chat)) await groups.requireMaySend(message.chat);
  const encrypted = await readFile(message.message_id, (stream) =>
    encryptedStream({ stream }, mediaType),
  ).catch((error: unknown) => {
    throw error instanceof InternalApiRefusal ? unavailable() : error;
  });
  try {
    if (Buffer.from(encrypted.fileSha256).toString('hex') !== sha256) throw unavailable();
    const { mediaKey, fileSha256, fileEncSha256, fileLength } = encrypted;
    const fileEncSha256B64 = Buffer.from(fileEncSha256).toString('base64');
    const { mediaUrl: url, directPath } = await askNetwork(() =>
      hosts.upload(encrypted.encFilePath, { mediaType, fileEncSha256B64, timeoutMs }),
    );
    const mediaKeyTimestamp = Math.floor(Date.now() / 1_000);
    return { url, directPath, mediaKey, fileSha256, fileEncSha256, fileLength, mediaKeyTimestamp };
  } finally {
    await unlink(encrypted.encFilePath).catch(() => undefined);
  }
}

const unavailable = () => SendFailure.refused('media_unavailable', 'the file no longer exists');
