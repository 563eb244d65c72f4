import type { MediaType, proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { backoffDelay } from '@gwk/core/async/backoff';
import type { Clock } from '@gwk/core/clock';
import { waitOnClock, unrefClock } from '../../../../clock.js';
import type { DriverContext } from '../../../driver.js';
import type { NetworkConnection } from '../../connection/network-connection.js';
import type { NetworkRoute } from '../../connection/network-route.js';
import type { Envelope } from '../normalise/envelope.js';
import { describeFile, downloadFile, type FileDescription, type AttemptFailure } from './download.js';

type InboundMedia = NonNullable<InboundMessage['media']>;

interface Attachment {
  file: FileDescription;
  type: MediaType;
}

function findAttachment(message: proto.IMessage): Attachment | null {
  const { imageMessage, videoMessage, ptvMessage, audioMessage, documentMessage, stickerMessage } = message;
  const { productImage } = message.productMessage?.product ?? {};
  const found: [FileDescription | null | undefined, MediaType][] = [
    [imageMessage, 'image'],
    [videoMessage, 'video'],
    [ptvMessage, 'video'],
    [audioMessage, 'audio'],
    [documentMessage, 'document'],
    [stickerMessage, 'sticker'],
    [productImage?.directPath ? productImage : null, 'image'],
  ];
  const [file, type] = found.find(([content]) => content) ?? [];
  return file && type ? { file, type } : null;
}

interface FileSource {
  /** Null while not connected. */
  findConnection: () => NetworkConnection | null;
  storeFile: DriverContext['storeFile'];
  route: NetworkRoute;
  /** Aborted when nobody waits any longer; a file that is not stored by then is lost. */
  signal: AbortSignal;
  clock?: Clock;
}

/** How long an unavailable host or phone is retried, from the first failure on. The conversation waits too. */
const HOST_MS = 120_000;
/** Without the API or the network, no other message could be delivered either. */
const UNAVAILABLE_MS = 900_000;
const RETRY = { firstMs: 500, maxMs: 15_000 };
/** Bounds a phone that keeps uploading a file that is deleted each time. */
const MAX_REUPLOADS = 3;
/** Timeout for the phone's answer. */
const PHONE_MS = 20_000;

/**
 * Streams the file of a message to the API and verifies it by the hash in the message, which the sender encrypted;
 * the media host is not trusted. Only the network's own hosts are contacted, whatever address the message states.
 * While a host, the API or the network is unavailable, it retries, and the entry stays in the journal, so a kill
 * loses nothing.
 */
export async function storeReceivedFile(
  envelope: Envelope,
  source: FileSource,
): Promise<InboundMedia | undefined> {
  const attachment = findAttachment(envelope.content.message);
  if (!attachment) return undefined;
  const { file, type } = attachment;
  const known = describeFile(file);
  if (!file.directPath || !file.mediaKey || !file.fileSha256) return { error: 'unavailable', ...known };
  const result = await downloadWithRetries(attachment, envelope, source);
  if (typeof result === 'string') return { error: result, ...known };
  return {
    ...result,
    ...(file.seconds && { duration_s: file.seconds }),
    ...(type === 'audio' && { voice: Boolean(file.ptt) }),
  };
}

type MediaError = Extract<InboundMedia, { error: string }>['error'];

async function downloadWithRetries(
  { file, type }: Attachment,
  envelope: Envelope,
  source: FileSource,
): Promise<{ media_id: string } | MediaError> {
  const { clock = unrefClock } = source;
  let failedAt: number | undefined;
  let reuploads = 0;
  for (let attempt = 1; ; attempt++) {
    const connection = source.findConnection();
    const result = await downloadFile({
      file,
      type,
      findHost: connection ? () => connection.media.findDownloadHost() : undefined,
      storeFile: source.storeFile,
      route: source.route,
    });
    if (typeof result !== 'string') return result;
    const failure = result === 'expired' ? await requestReupload(envelope, connection, clock) : result;
    if (failure === 'reuploaded') {
      if (++reuploads > MAX_REUPLOADS) return 'expired';
      continue;
    }
    // A large file may have taken longer than the limit until it broke off.
    failedAt ??= clock.now();
    const spentMs = clock.now() - failedAt;
    const error = decideMediaError(failure, source.signal.aborted ? Infinity : spentMs);
    if (error !== null) return error;
    await waitOnClock(clock, backoffDelay(RETRY, attempt), source.signal);
  }
}

/** Reasons why a file could not be retrieved: the download failed, or the phone could not help. */
export type DownloadFailure = Exclude<AttemptFailure, 'expired'> | PhoneFailure;
type PhoneFailure = 'phone_unresponsive' | 'phone_lacks_file' | 'no_connection';

/** Another attempt gets the same bytes. */
const WRONG_FILE: ReadonlySet<string> = new Set(['hash_mismatch', 'too_large', 'empty']);

/** Null: retry. */
export function decideMediaError(failure: DownloadFailure, spentMs: number): MediaError | null {
  if (WRONG_FILE.has(failure)) return failure;
  switch (failure) {
    case 'refused':
      return 'unavailable';
    case 'phone_lacks_file':
      return 'expired';
    case 'phone_unresponsive':
      return spentMs > HOST_MS ? 'expired' : null;
    case 'host_unavailable':
      return spentMs > HOST_MS ? 'unavailable' : null;
    case 'api_unavailable':
    case 'no_connection':
      return spentMs > UNAVAILABLE_MS ? 'unavailable' : null;
    default:
      return null;
  }
}

/** The phone may still have the file and upload it again. The message then states its new location. */
async function requestReupload(
  envelope: Envelope,
  connection: NetworkConnection | null,
  clock: Clock,
): Promise<'reuploaded' | PhoneFailure> {
  if (!connection) return 'no_connection';
  const { chat, id, fromMe, from, isGroup, content } = envelope;
  const key = { remoteJid: chat, id, fromMe, ...(isGroup && { participant: from }) };
  const timer = new AbortController();
  const timeout = waitOnClock(clock, PHONE_MS, timer.signal).then(() => 'phone_unresponsive' as const);
  try {
    const reuploaded = connection.socket
      .updateMediaMessage({ key, message: content.message })
      .then(() => 'reuploaded' as const);
    return await Promise.race([reuploaded, timeout]);
  } catch (error) {
    return isClosed(error) ? 'no_connection' : 'phone_lacks_file';
  } finally {
    timer.abort();
  }
}

const CONNECTION_CLOSED = 428;

const isClosed = (error: unknown): boolean =>
  (error as { output?: { statusCode?: number } } | undefined)?.output?.statusCode === CONNECTION_CLOSED;
