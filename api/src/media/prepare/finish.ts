import { createReadStream } from 'node:fs';
import { fromPublicId, newUuid } from '@gwk/core/ids';
import type { FinishedMedia } from '@gwk/core/resources/finished-media';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import type { OutboundContent } from '@gwk/core/resources/message';
import { extractMedia } from '../../messages/preparation.js';
import { FileTooLarge, type MediaFiles, type MediaRow } from '../files.js';
import { FileMissing } from '../store/store.js';
import { FileRefused, type ToolAnswer } from '../tools/jobs.js';
import { decodeFile, type DecodeDeps } from './decode.js';
import type { Fetcher } from './fetcher.js';
import { planPreparation, chooseMimetype, MediaUnavailable, type Plan } from './rules.js';

export interface FinishDeps extends Omit<DecodeDeps, 'signal'> {
  files: MediaFiles;
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
    ? await fetchSource(given.url, owner, deps, signal)
    : await findUpload(given.media_id, deps);
  const filename = given.filename ?? source.filename;
  const plan = planPreparation(content.type, source.mimetype, content.audio?.voice === true);
  const mimetype = chooseMimetype(plan, source.mimetype, given.mimetype ?? null);
  const { row, metadata } = await decode(source, plan, owner, { ...deps, signal });
  return {
    file: row.id,
    mimetype,
    size: row.size,
    sha256: row.sha256.toString('hex'),
    // A document always has a name, because the recipient sees it.
    filename: content.type === 'document' ? (filename ?? 'document') : filename,
    ...metadata,
  };
}

async function findUpload(publicId: string | null | undefined, { files }: FinishDeps): Promise<MediaRow> {
  const id = fromPublicId('media', publicId ?? '');
  const row = id === null ? null : await files.find(id);
  if (!row || row.removedAt !== null || row.expiresAt.getTime() <= Date.now()) {
    throw new MediaUnavailable('the file has expired');
  }
  return row;
}

async function fetchSource(
  url: string,
  owner: Owner,
  deps: FinishDeps,
  signal: AbortSignal,
): Promise<MediaRow> {
  const { files, fetcher, fetchMs } = deps;
  const limit = AbortSignal.timeout(fetchMs);
  const whole = AbortSignal.any([signal, limit]);
  try {
    const { body, type, name } = await fetcher.fetch(url, MAX_MEDIA_BYTES, whole);
    const file = await files.receive(body, MAX_MEDIA_BYTES, { filename: name, declared: type });
    if (file.size === 0) {
      await files.discard(file);
      throw new MediaUnavailable('the file is empty');
    }
    return await files.keep(file, { id: newUuid(), ...owner, filename: name });
  } catch (error) {
    if (error instanceof FileTooLarge) throw new MediaUnavailable('the file is too large', { cause: error });
    if (signal.aborted) throw signal.reason;
    if (limit.aborted)
      throw new MediaUnavailable('fetching the file takes too long', { temporary: true, cause: error });
    if (isConnectionLost(error)) {
      throw new MediaUnavailable('the file could not be fetched (connection lost)', {
        temporary: true,
        cause: error,
      });
    }
    throw error;
  }
}

const isConnectionLost = (error: unknown): boolean =>
  ['UND_ERR_SOCKET', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'ECONNRESET'].includes(
    String((error as { code?: unknown }).code),
  );

/** Decodes the file and returns the row to send. If the file was converted, the fetched source is deleted. */
async function decode(
  source: MediaRow,
  plan: Plan,
  owner: Owner,
  deps: FinishDeps & DecodeDeps,
): Promise<{ row: MediaRow; metadata: Omit<ToolAnswer, 'converted'> }> {
  if (plan === null) return { row: source, metadata: {} };
  const { files } = deps;
  const open = () => files.open(source);
  try {
    return await decodeFile(open, plan, deps, async ({ converted, ...metadata }, output) => {
      if (!converted) return { row: source, metadata };
      const hints = { filename: null, declared: null };
      const file = await files.receive(createReadStream(output), MAX_MEDIA_BYTES, hints);
      const row = await files.keep(file, { id: newUuid(), ...owner, filename: source.filename });
      if (source.messageId !== null) await files.delete(source.id);
      return { row, metadata };
    });
  } catch (error) {
    if (error instanceof FileRefused || error instanceof FileTooLarge || error instanceof FileMissing) {
      const text = error instanceof FileRefused ? error.message : 'the file is too large or was deleted';
      throw new MediaUnavailable(text, { cause: error });
    }
    throw error;
  }
}
