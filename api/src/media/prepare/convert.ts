import { Readable } from 'node:stream';
import { newUuid } from '@gwk/core/ids/ids';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import { FileTooLarge, type MediaFiles, type MediaRow, type ReceivedFile } from '../files.js';
import { FileMissing } from '../store/store.js';
import { FileRefused, type ToolAnswer } from '@gwk/core/decoder/jobs';
import { openOutput } from '@gwk/core/decoder/output';
import { decodeFile, type DecodeDeps } from './decode.js';
import type { DecodedFiles, DecodingKey, DecodingResult } from './decoded-files.js';
import { MediaUnavailable, type Plan } from './rules.js';

export interface ConvertDeps extends Omit<DecodeDeps, 'signal' | 'accountId'> {
  files: MediaFiles;
  decoded: DecodedFiles;
}

interface Owner {
  messageId: string;
  accountId: string;
}

interface ConvertedFile {
  row: MediaRow;
  metadata: Omit<ToolAnswer, 'converted' | 'page'>;
}

/**
 * Decodes the file, or takes the result of an earlier message with the same content. If the file was converted, the fetched
 * source is deleted.
 * @throws MediaUnavailable; the signal's reason; errors of the store
 */
export function convertFile(
  source: MediaRow,
  plan: NonNullable<Plan>,
  owner: Owner,
  deps: ConvertDeps & DecodeDeps,
): Promise<ConvertedFile> {
  const key: DecodingKey = { accountId: owner.accountId, sha256: source.sha256, plan };
  return deps.decoded.takeTurn(key, async () => {
    deps.signal.throwIfAborted();
    const known = await deps.decoded.find(key);
    return (known && (await reuse(known, source, owner, deps))) ?? decode(key, source, owner, deps);
  });
}

/** @returns null if the converted file cannot be read. @throws MediaUnavailable for a file that was refused */
async function reuse(
  known: DecodingResult,
  source: MediaRow,
  owner: Owner,
  { files, signal }: ConvertDeps & DecodeDeps,
): Promise<ConvertedFile | null> {
  if ('refused' in known) throw new MediaUnavailable(known.refused);
  const metadata = known.answer;
  if (known.convertedId === null) return { row: source, metadata };
  const converted = await files.find(known.convertedId);
  if (converted === null || converted.removedAt !== null) return null;
  // A copy, because a file is deleted with the content of its message.
  const copy = await receiveConverted(async () => Readable.from(await files.open(converted)), files).catch(
    () => null,
  );
  signal.throwIfAborted();
  return copy && { row: await keepConverted(copy, source, owner, files), metadata };
}

async function decode(
  key: DecodingKey,
  source: MediaRow,
  owner: Owner,
  deps: ConvertDeps & DecodeDeps,
): Promise<ConvertedFile> {
  const { files, decoded } = deps;
  const input = { open: () => files.open(source), isRemote: false };
  try {
    const job = { ...deps, message: owner.messageId };
    return await decodeFile(input, key.plan, job, async ({ converted, ...metadata }, output) => {
      const row = converted
        ? await keepConverted(await receiveConverted(openOutputStream(output), files), source, owner, files)
        : source;
      await decoded.keep(key, { answer: metadata, convertedId: converted ? row.id : null });
      return { row, metadata };
    });
  } catch (error) {
    if (error instanceof FileRefused) {
      await decoded.keep(key, { refused: error.message });
      throw new MediaUnavailable(error.message, { cause: error });
    }
    if (error instanceof FileTooLarge || error instanceof FileMissing) {
      throw new MediaUnavailable('the file is too large or was deleted', { cause: error });
    }
    throw error;
  }
}

/** Source of a file that a tool has written. */
export const openOutputStream = (output: string) => async () => (await openOutput(output)).createReadStream();

export const receiveConverted = async (
  open: () => Promise<Readable>,
  files: Pick<MediaFiles, 'receive'>,
): Promise<ReceivedFile> => files.receive(await open(), MAX_MEDIA_BYTES, { filename: null, declared: null });

async function keepConverted(
  file: ReceivedFile,
  source: MediaRow,
  owner: Owner,
  files: MediaFiles,
): Promise<MediaRow> {
  const row = await files.keep(file, {
    id: newUuid(),
    ...owner,
    origin: 'unasked',
    filename: source.filename,
  });
  if (source.messageId !== null) await files.delete(source.id);
  return row;
}
