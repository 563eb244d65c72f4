import { unlink } from 'node:fs/promises';
import { encryptedStream, type MediaType } from '@whiskeysockets/baileys';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import type { OutboundContent } from '@gwk/core/resources/message';
import { SendFailure, type DriverContext } from '../../driver.js';
import type { MediaHosts } from '../patches/media-hosts.js';
import { askNetwork } from './recipients.js';

const UPLOAD_MS = 120_000;

/** File fields of the network's own messages, for every type of file. */
export type UploadedFile = Awaited<ReturnType<typeof uploadFile>>;

/**
 * Uploads the finished file of a message, encrypted with a key of its own. The encrypted bytes go through a
 * temporary file, so the size costs no memory. It never fetches an address that a customer gave.
 * @throws SendFailure
 */
export async function uploadFile(
  hosts: MediaHosts,
  { readFile }: Pick<DriverContext, 'readFile'>,
  { message, content }: { message: ClaimedMessage; content: OutboundContent },
) {
  // Every type of message with a finished file is a type of Baileys' media too.
  const mediaType = content.type as MediaType;
  const encrypted = await readFile(message.message_id, (stream) =>
    encryptedStream({ stream }, mediaType),
  ).catch((error: unknown) => {
    throw error instanceof InternalApiRefusal ? unavailable() : error;
  });
  try {
    if (Buffer.from(encrypted.fileSha256).toString('hex') !== content.finished!.sha256) throw unavailable();
    const { mediaKey, fileSha256, fileEncSha256, fileLength } = encrypted;
    const fileEncSha256B64 = Buffer.from(fileEncSha256).toString('base64');
    const { mediaUrl: url, directPath } = await askNetwork(() =>
      hosts.upload(encrypted.encFilePath, { mediaType, fileEncSha256B64, timeoutMs: UPLOAD_MS }),
    );
    const mediaKeyTimestamp = Math.floor(Date.now() / 1_000);
    return { url, directPath, mediaKey, fileSha256, fileEncSha256, fileLength, mediaKeyTimestamp };
  } finally {
    await unlink(encrypted.encFilePath).catch(() => undefined);
  }
}

const unavailable = () => SendFailure.refused('media_unavailable', 'the file no longer exists');
