import { Readable } from 'node:stream';
import { cleanFilename } from '@gwk/core/text/filenames';
import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { FinishedMedia } from '@gwk/core/resources/finished-media';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import type { MessageType, OutboundContent } from '@gwk/core/resources/message';
import { extractMedia } from '../../messages/preparation.js';
import { fitExtension } from '../filename-type.js';
import { FileTooLarge, type MediaRow } from '../files.js';
import { refineType } from '../sniff.js';
import { convertFile, type ConvertDeps } from './convert.js';
import { ACCEPT, type Fetcher } from './fetcher.js';
import { findPage } from './page-in-place.js';
import { planPreparation, chooseMimetype, MediaUnavailable } from './rules.js';

export interface FinishDeps extends ConvertDeps {
  fetcher: Fetcher;
  fetchMs: number;
}

interface Owner {
  messageId: string;
  accountId: string;
}

/**
 * Converts the file of a message to the form that an engine sends.
 * @throws MediaUnavailable; the signal's reason; errors of the store
 */
export async function finishMedia(
  content: OutboundContent,
  owner: Owner,
  deps: FinishDeps,
  signal: AbortSignal,
): Promise<FinishedMedia> {
  const given = extractMedia(content)!;
  const source = given.url
    ? await fetchSource({ type: content.type, ...given }, owner, deps, signal)
    : await findUpload(given.media_id, findMaxBytes(content.type, deps), deps);
  const filename = cleanFilename(given.filename ?? '') ?? source.filename;
  const type = refineType(source.mimetype, given.filename ?? null);
  const plan = planPreparation(content.type, type, findVariant(content));
  const mimetype = chooseMimetype(plan, type, given.mimetype ?? null);
  const { row, metadata } =
    plan === null
      ? { row: source, metadata: {} }
      : await convertFile(source, plan, owner, { ...deps, accountId: owner.accountId, signal });
  if (content.image?.hd && metadata.gif) throw new MediaUnavailable('an animation has no HD version');
  return {
    file: row.id,
    // The metadata of a converted file name its type.
    mimetype,
    size: row.size,
    sha256: row.sha256.toString('hex'),
    // A document always has a name, because the recipient sees it.
    filename: content.type === 'document' ? fitExtension(filename ?? 'document', mimetype) : filename,
    ...metadata,
  };
}

function findVariant({
  audio,
  video,
  image,
  part_of,
}: OutboundContent): Parameters<typeof planPreparation>[2] {
  if (image?.hd) return part_of ? null : 'small';
  return audio?.voice ? 'voice' : video?.round ? 'round' : null;
}

const TOO_LARGE = 'the file is too large';

/** Only documents are not decoded. */
const findMaxBytes = (type: MessageType, { files }: Pick<FinishDeps, 'files'>): number =>
  type === 'document' ? files.maxBytes : MAX_MEDIA_BYTES;

/** Larger files have proportionally more time. */
export const longestFetchMs = (fetchMs: number, maxBytes: number): number =>
  Math.ceil(fetchMs * Math.max(1, maxBytes / MAX_MEDIA_BYTES));

async function findUpload(
  publicId: string | null | undefined,
  maxBytes: number,
  { files }: FinishDeps,
): Promise<MediaRow> {
  const id = fromPublicId('media', publicId ?? '');
  const row = id === null ? null : await files.find(id);
  if (!row || row.removedAt !== null || row.expiresAt.getTime() <= Date.now()) {
    throw new MediaUnavailable('the file has expired');
  }
  if (row.size > maxBytes) throw new MediaUnavailable(TOO_LARGE);
  return row;
}

async function fetchSource(
  given: NonNullable<ReturnType<typeof extractMedia>> & { type: MessageType },
  owner: Owner,
  deps: FinishDeps,
  signal: AbortSignal,
): Promise<MediaRow> {
  const { files, fetcher, fetchMs } = deps;
  const maxBytes = findMaxBytes(given.type, deps);
  const limit = AbortSignal.timeout(longestFetchMs(fetchMs, maxBytes));
  const whole = AbortSignal.any([signal, limit]);
  try {
    const accepted = ['image', 'sticker'].includes(given.type) ? ACCEPT.picture : ACCEPT.page;
    const { body, type, name } = await fetcher.fetch(given.url!, maxBytes, whole, accepted);
    // The host may fail before the store reads the body.
    body.on('error', () => undefined);
    const file = await files.receive(Readable.from(readDownload(body)), maxBytes, {
      filename: name,
      declared: type,
    });
    const fault =
      file.size === 0 ? 'the file is empty' : findPage(given.type, file.mimetype, { given, type, name });
    if (fault !== null) {
      await files.discard(file);
      throw new MediaUnavailable(fault);
    }
    return await files.keep(file, { id: newUuid(), ...owner, origin: 'unasked', filename: name });
  } catch (error) {
    if (error instanceof FileTooLarge) throw new MediaUnavailable(TOO_LARGE, { cause: error });
    if (signal.aborted) throw signal.reason;
    if (limit.aborted)
      throw new MediaUnavailable('fetching the file takes too long', { temporary: true, cause: error });
    throw error;
  }
}

/**
 * Every error while a body is read is one of the host. Errors of the store also arrive here, at `yield`, and stay as
 * they are.
 */
async function* readDownload(body: Readable): AsyncGenerator<Buffer> {
  const chunks = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const chunk = await chunks.next().catch((error: unknown) => {
        throw new MediaUnavailable('the file could not be fetched (connection lost)', {
          temporary: true,
          cause: error,
        });
      });
      if (chunk.done) return;
      yield chunk.value;
    }
  } finally {
    body.destroy();
  }
}
