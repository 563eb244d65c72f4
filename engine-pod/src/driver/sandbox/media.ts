import { createHash } from 'node:crypto';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import type { FinishedMedia } from '@gwk/core/resources/finished-media';
import type { OutboundContent } from '@gwk/core/resources/message';
import { SendFailure, type DriverContext } from '../driver.js';

/** The file as the sandbox's recipient gets it: its metadata, and the size and digest of the bytes received. */
export type DeliveredMedia = Omit<FinishedMedia, 'file'> & { file: undefined };

/**
 * Reads the finished file of a message as the real network would, and stores nothing. Null when there is none.
 * @throws SendFailure when the file no longer exists or differs from the finished one
 */
export async function deliverMedia(
  { message_id, content }: ClaimedMessage,
  { readFile }: Pick<DriverContext, 'readFile'>,
): Promise<DeliveredMedia | null> {
  const { finished } = JSON.parse(content) as OutboundContent;
  if (!finished) return null;
  const received = await readFile(message_id, async (file) => {
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of file as AsyncIterable<Buffer>) {
      hash.update(chunk);
      size += chunk.length;
    }
    return { size, sha256: hash.digest('hex') };
  }).catch((error: unknown) => {
    throw error instanceof InternalApiRefusal ? unavailable() : error;
  });
  if (received.sha256 !== finished.sha256) throw unavailable();
  return { ...finished, ...received, file: undefined };
}

const unavailable = () => SendFailure.refused('media_unavailable', 'the file no longer exists');
