import { createHash } from 'node:crypto';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import type { FinishedMedia } from '@gwk/core/resources/finished-media';
import type { OutboundContent } from '@gwk/core/resources/message';
import { SendFailure, type DriverContext } from '../driver.js';

/** What the sandbox's recipient gets of a file: what is said of it, and the size and digest of the bytes that came. */
export type DeliveredMedia = Omit<FinishedMedia, 'file'> & { file: undefined };

/**
 * Takes the finished file of a message as the real network would, and keeps nothing of it. Null where it has none.
 * @throws SendFailure where the file is gone, or is not what was finished
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

const unavailable = () => SendFailure.refused('media_unavailable', 'the file is gone');
