import { createHash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import {
  downloadContentFromMessage,
  type DownloadableMessage,
  type MediaType,
  type proto,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/engine';
import type { DriverContext } from '../../driver.js';
import type { Envelope } from './envelope.js';

type Kept = NonNullable<InboundMessage['media']>;

/** What the network says of a file that came. */
interface Described extends DownloadableMessage {
  fileSha256?: Uint8Array | null;
  fileLength?: number | { toString(): string } | null;
  mimetype?: string | null;
  fileName?: string | null;
  seconds?: number | null;
  ptt?: boolean | null;
}

interface Attached {
  file: Described;
  type: MediaType;
}

const MAX_BYTES = 67_108_864;
const AGAIN_MS = 20_000;

export function fileIn(message: proto.IMessage): Attached | null {
  const { imageMessage, videoMessage, ptvMessage, audioMessage, documentMessage, stickerMessage } = message;
  const found: [Described | null | undefined, MediaType][] = [
    [imageMessage, 'image'],
    [videoMessage, 'video'],
    [ptvMessage, 'video'],
    [audioMessage, 'audio'],
    [documentMessage, 'document'],
    [stickerMessage, 'sticker'],
  ];
  const [file, type] = found.find(([content]) => content) ?? [];
  return file && type ? { file, type } : null;
}

export interface FileSource {
  /** Null while there is no connection. */
  socket: () => WASocket | null;
  keepFile: DriverContext['keepFile'];
}

/**
 * Brings the file of a message to the API as it comes, checked by the hash in the message, which its sender has
 * encrypted: what the media host gives is believed in nothing. Asked for from the network's own hosts only, whatever
 * address the message names.
 */
export async function keepFile(envelope: Envelope, source: FileSource): Promise<Kept | undefined> {
  const attached = fileIn(envelope.message);
  if (!attached) return undefined;
  const { file, type } = attached;
  if (!file.directPath || !file.mediaKey || !file.fileSha256) return { error: 'unavailable' };
  if (Number(file.fileLength ?? 0) > MAX_BYTES) return { error: 'too_large' };
  const first = await fetchFile(attached, source);
  const fetched =
    first === 'expired' && (await askAgain(envelope, source)) ? await fetchFile(attached, source) : first;
  if (typeof fetched === 'string') return { error: fetched };
  return {
    ...fetched,
    ...(file.seconds && { duration_s: file.seconds }),
    ...(type === 'audio' && { voice: Boolean(file.ptt) }),
  };
}

type Fault = 'expired' | 'unavailable' | 'hash_mismatch' | 'too_large';

async function fetchFile(
  { file, type }: Attached,
  source: FileSource,
): Promise<{ media_id: string } | Fault> {
  const checked = new CheckedFile(Buffer.from(file.fileSha256!));
  try {
    const host = await mediaHost(source);
    const stream = await downloadContentFromMessage(
      { mediaKey: file.mediaKey!, directPath: file.directPath! },
      type,
      { host },
    );
    stream.on('error', (error) => checked.destroy(error));
    const { media_id } = await source.keepFile(stream.pipe(checked), {
      ...(file.mimetype && { mimetype: file.mimetype.slice(0, 120) }),
      ...(file.fileName && { filename: file.fileName.slice(0, 255) }),
    });
    return { media_id };
  } catch (error) {
    return checked.fault ?? faultOf(error);
  }
}

function faultOf(error: unknown): Fault {
  const status = (error as { output?: { statusCode?: number } }).output?.statusCode;
  return status === 404 || status === 410 ? 'expired' : 'unavailable';
}

/** The host that the network has named, not the one in the message: whoever writes that could choose it. */
async function mediaHost({ socket }: FileSource): Promise<string> {
  const open = socket();
  if (!open) throw new Error('there is no connection');
  const { hosts } = await open.refreshMediaConn(false);
  if (!hosts[0]) throw new Error('the network names no media host');
  return hosts[0].hostname;
}

/** The sender's phone may still have the file, and put it up again. */
async function askAgain(envelope: Envelope, { socket }: FileSource): Promise<boolean> {
  const open = socket();
  if (!open) return false;
  const { chat, id, fromMe, from, isGroup, message } = envelope;
  const key = { remoteJid: chat, id, fromMe, ...(isGroup && { participant: from }) };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), AGAIN_MS);
  });
  try {
    await Promise.race([open.updateMediaMessage({ key, message }), late]);
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

/** Passes a file on, and fails at its end unless it is the one that was announced. */
class CheckedFile extends Transform {
  readonly #hash = createHash('sha256');
  readonly #expected: Buffer;
  #size = 0;
  fault: Fault | undefined;

  constructor(expected: Buffer) {
    super();
    this.#expected = expected;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#size += chunk.length;
    if (this.#size > MAX_BYTES) return this.#fail('too_large', done);
    this.#hash.update(chunk);
    done(null, chunk);
  }

  override _flush(done: TransformCallback): void {
    if (this.#hash.digest().equals(this.#expected)) done();
    else this.#fail('hash_mismatch', done);
  }

  #fail(fault: Fault, done: TransformCallback): void {
    this.fault = fault;
    done(new Error(`a received file is refused: ${fault}`));
  }
}
