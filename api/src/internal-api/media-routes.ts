import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { newUuid } from '@gwk/core/ids';
import { MediaDownload, MediaUploadQuery, type MediaUploadResponse } from '@gwk/core/protocol/engine';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import type { OutboundContent } from '@gwk/core/resources/message';
import { FileTooLarge, type MediaRow } from '../media/files.js';
import { FileMissing } from '../media/store/store.js';
import { openContent } from '../messages/content.js';
import { readBody } from './body.js';
import type { EngineCaller, InternalDeps } from '../engines/dependencies.js';
import { fence } from '../engines/fence.js';
import { RefusalError } from '../engines/refusal.js';

/**
 * Streams files between engines and the media store. An engine can read the prepared file of a message that its own lease
 * has claimed, and no other; a file that it uploads belongs to its instance.
 */
export const MEDIA_PATHS = { download: '/engine/media-download', upload: '/engine/media-upload' };
const SMALL_BODY = 10_000;

type MediaDeps = Pick<InternalDeps, 'database' | 'sealer' | 'media'>;

/** @throws RefusalError `invalid`, `fenced` */
export async function sendFinished(
  deps: MediaDeps,
  caller: EngineCaller,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const asked = await readBody(request, MediaDownload, { maxBytes: SMALL_BODY });
  const row = await finishedOf(deps, caller, asked);
  const bytes = await deps.media.files.open(row).catch((error: unknown) => {
    throw error instanceof FileMissing ? new RefusalError('invalid') : error;
  });
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': row.size });
  // The announced length lets the engine detect an interrupted transfer.
  await pipeline(bytes, response).catch(() => response.destroy());
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
  const row = content.finished ? await media.files.find(content.finished.file) : null;
  if (!row) throw new RefusalError('invalid');
  return row;
}

/** Path separators, control characters and bidirectional controls. */
const DECEPTIVE = /[/\\\p{Cc}\p{Bidi_Control}]/gu;

/** Cleans a file name from a sender: consumers may use it on a disk or show it to people. */
function safeName(given: string | undefined): string | null {
  const name = (given ?? '').replaceAll(DECEPTIVE, '').replace(/^\.+/, '').trim();
  return name === '' ? null : name;
}

/** @throws RefusalError `invalid`, `fenced` */
export async function takeReceived(
  deps: MediaDeps,
  caller: EngineCaller,
  request: IncomingMessage,
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
  const { mimetype = null } = named.data;
  const filename = safeName(named.data.filename);
  const file = await media.files
    .receive(request, MAX_MEDIA_BYTES, { filename, declared: mimetype })
    .catch((error: unknown) => {
      throw error instanceof FileTooLarge ? new RefusalError('invalid') : error;
    });
  const instanceIds = [instanceId];
  const row = await media.files.keep(file, { id: newUuid(), accountId, instanceIds, filename });
  return { media_id: row.id, mimetype: row.mimetype, size: row.size, sha256: row.sha256.toString('hex') };
}
