import type { IncomingMessage, ServerResponse } from 'node:http';
import { newUuid } from '@gwk/core/ids/ids';
import { cleanFilename } from '@gwk/core/text/filenames';
import { MediaDownload, MediaUploadQuery, type MediaUploadResponse } from '@gwk/core/protocol/engine';
import type { OutboundContent } from '@gwk/core/resources/message';
import { StorageFull } from '../accounts/usage.js';
import { FileTooLarge, type MediaRow, type ReceivedFile } from '../media/files.js';
import type { TypeHints } from '../media/sniff.js';
import { sendFile } from '../media/send-file.js';
import { FileMissing } from '../media/store/store.js';
import { RETRY_SECONDS, TransferLimited } from '../media/transfers/transfers.js';
import { openContent } from '../messages/content.js';
import { readBody } from './body.js';
import type { InternalDeps } from '../engines/dependencies.js';
import { fence, type EngineCaller } from '../fencing/fence.js';
import { RefusalError } from '../fencing/refusal.js';

/**
 * Streams files between engines and the media store. An engine can read the prepared file of a message that its own lease
 * has claimed, and no other; a file that it uploads belongs to its instance.
 */
export const MEDIA_PATHS = { download: '/engine/media-download', upload: '/engine/media-upload' };
const SMALL_BODY = 10_000;

type MediaDeps = Pick<InternalDeps, 'database' | 'sealer' | 'media' | 'transfers' | 'silenceMs'>;

/** @throws RefusalError `invalid`, `fenced` */
export async function sendFinished(
  deps: MediaDeps,
  caller: EngineCaller,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const asked = await readBody(request, MediaDownload, { maxBytes: SMALL_BODY });
  const row = await finishedOf(deps, caller, asked);
  const file = { files: deps.media.files, row, range: { start: 0, end: row.size - 1 }, response };
  const counted = { transfers: deps.transfers.engine_download, subjects: { instance: caller.instanceId } };
  // The announced length lets the engine detect an interrupted transfer.
  const headers = { 'content-type': 'application/octet-stream', 'content-length': row.size };
  await sendFile(file, counted, () => response.writeHead(200, headers)).catch((error: unknown) => {
    throw error instanceof FileMissing ? new RefusalError('invalid') : toRefusal(error);
  });
}

/** The engine retries. */
function toRefusal(error: unknown): unknown {
  return error instanceof TransferLimited
    ? new RefusalError('unavailable', { retry_after_ms: RETRY_SECONDS * 1_000 })
    : error;
}

async function finishedOf(
  { database, sealer, media }: MediaDeps,
  { instanceId }: EngineCaller,
  { epoch, holder, message_id: messageId }: MediaDownload,
): Promise<MediaRow> {
  await fence(database, instanceId, { epoch, holder });
  const [claimed] = await database.$queryRaw<{ content_sealed: Uint8Array }[]>`
    SELECT c.content_sealed FROM outbox o JOIN message_contents c ON c.message_id = o.message_id
    WHERE o.message_id = ${messageId}::uuid AND o.instance_id = ${instanceId}::uuid AND o.state = 'claimed'
      AND o.claim_epoch = ${epoch}::integer AND o.claim_holder = ${holder}::uuid`;
  if (!claimed) throw new RefusalError('invalid');
  const content = JSON.parse(openContent(sealer, instanceId, claimed.content_sealed)) as OutboundContent;
  const file = content.finished?.file ?? content.preview?.picture?.file;
  const row = file === undefined ? null : await media.files.find(file);
  if (!row) throw new RefusalError('invalid');
  return row;
}

/** The engine reports `media.error` and does not retry: retries would delay the conversation for 15 minutes. */
function refuseStorage(error: unknown): never {
  throw error instanceof StorageFull ? new RefusalError('invalid') : error;
}

/** @throws RefusalError `invalid`, `fenced` */
export async function takeReceived(
  deps: MediaDeps,
  caller: EngineCaller,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<MediaUploadResponse> {
  const query = new URL(request.url ?? '', 'http://internal').searchParams;
  const named = MediaUploadQuery.safeParse(Object.fromEntries(query));
  if (!named.success) throw new RefusalError('invalid');
  const { database, media } = deps;
  const { instanceId } = caller;
  await fence(database, instanceId, named.data);
  const { accountId } = await database.instance.findUniqueOrThrow({
    where: { id: instanceId },
    select: { accountId: true },
  });
  await media.files.checkSpace(accountId, 'unasked').catch(refuseStorage);
  const { mimetype = null, size = 0 } = named.data;
  if (size > media.files.maxBytes) throw new RefusalError('too-large');
  // Senders write dates like 3/2026.
  const filename = cleanFilename(named.data.filename ?? '', '_');
  const stop = keepAlive(response, deps.silenceMs);
  const file = await receive(request, { filename, declared: mimetype }, deps, instanceId).finally(stop);
  const instanceIds = [instanceId];
  const row = await media.files
    .keep(file, { id: newUuid(), accountId, instanceIds, origin: 'unasked', filename })
    .catch(refuseStorage);
  return { media_id: row.id, mimetype: row.mimetype, size: row.size, sha256: row.sha256.toString('hex') };
}

/** A store may take minutes for a file. Interim responses keep the idle timers of both sides from ending the request. */
function keepAlive(response: ServerResponse, silenceMs = 30_000): () => void {
  const timer = setInterval(() => {
    if (!response.destroyed) response.writeProcessing();
  }, silenceMs / 3);
  return () => clearInterval(timer);
}

async function receive(
  request: IncomingMessage,
  hints: TypeHints,
  { media, transfers }: MediaDeps,
  instance: string,
): Promise<ReceivedFile> {
  try {
    const transfer = transfers.engine_upload.open({ instance }, () => request.destroy());
    request.on('end', () => (transfer.waitsForClient = false));
    const progress = (bytes: number): void => transfer.progress(bytes);
    try {
      return await media.files.receive(request, media.files.maxBytes, hints, { owner: instance, progress });
    } finally {
      transfer.close();
    }
  } catch (error) {
    throw error instanceof FileTooLarge ? new RefusalError('too-large') : toRefusal(error);
  }
}
