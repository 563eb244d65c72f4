import { createDecipheriv, createHash, type Decipheriv } from 'node:crypto';
import { Transform, type Readable, type TransformCallback } from 'node:stream';
import {
  DEFAULT_ORIGIN,
  getHttpStream,
  getMediaKeys,
  getUrlFromDirectPath,
  type MediaType,
  type proto,
} from '@whiskeysockets/baileys';
import { InternalApiRefusal, InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import type { DriverContext } from '../../../driver.js';

/** Description of a received file in its message. */
export type FileDescription = Pick<
  proto.Message.IDocumentMessage,
  'directPath' | 'mediaKey' | 'fileSha256' | 'fileLength' | 'mimetype' | 'fileName'
> &
  Pick<proto.Message.IAudioMessage, 'seconds' | 'ptt'>;

/** Reason why one attempt failed. */
export type AttemptFailure =
  | 'no_connection'
  | 'host_unavailable'
  | 'api_unavailable'
  /** The network's hosts no longer have it. */
  | 'expired'
  | 'hash_mismatch'
  | 'too_large'
  /** Refused for good by the API, or because of the path it states. */
  | 'refused';

export const MAX_BYTES = 67_108_864;
/** A host that sends no byte for 30 s has failed. */
const IDLE_TIMEOUT_MS = 30_000;

interface FileDownload {
  file: FileDescription;
  type: MediaType;
  /** Finds the host that the network named. The sender could choose the one in the message. */
  findHost: (() => Promise<string>) | undefined;
  storeFile: DriverContext['storeFile'];
}

/** Makes one attempt to stream a file from the network to the API. */
export async function downloadFile({
  file,
  type,
  findHost,
  storeFile,
}: FileDownload): Promise<{ media_id: string } | AttemptFailure> {
  // The path is appended to the host name. Without a leading slash it would change the host.
  if (!file.directPath?.startsWith('/')) return 'refused';
  if (!findHost) return 'no_connection';
  const verified = new VerifiedFile(Buffer.from(file.fileSha256!));
  try {
    const host = await findHost().catch(() => null);
    if (host === null) return 'no_connection';
    const { mediaKey, directPath } = file;
    const { bytes, decryption } = await openWithTimeout(
      openEncryptedFile(directPath, mediaKey!, { type, host }),
    );
    for (const stream of [bytes, decryption]) {
      stream.on('error', (error) => verified.fail(classifyError(error)));
      verified.on('close', () => stream.destroy());
    }
    const { media_id } = await storeFile(bytes.pipe(decryption).pipe(verified), {
      ...(file.mimetype && { mimetype: file.mimetype.slice(0, 120) }),
      ...(file.fileName && { filename: file.fileName.slice(0, 255) }),
    });
    return { media_id };
  } catch (error) {
    return verified.failure ?? classifyError(error);
  } finally {
    verified.destroy();
  }
}

/** The encrypted bytes and the transform that decrypts them. */
interface EncryptedFileStream {
  bytes: Readable;
  decryption: FileDecryption;
}

/**
 * Opens an encrypted file. Baileys' own download returns the end of a pipe and nobody handles errors at its
 * beginning, so a broken host connection would end the process.
 *
 * @throws Boom with the status of a host that refuses; TypeError when there is no host
 */
async function openEncryptedFile(
  directPath: string,
  mediaKey: Uint8Array,
  { type, host }: { type: MediaType; host: string },
): Promise<EncryptedFileStream> {
  const { cipherKey, iv } = await getMediaKeys(mediaKey, type);
  const url = getUrlFromDirectPath(directPath, host);
  const bytes = await getHttpStream(url, { headers: { Origin: DEFAULT_ORIGIN } });
  return { bytes, decryption: new FileDecryption(cipherKey, iv) };
}

/** Destroys a stream that opens after the timeout. */
async function openWithTimeout(opening: Promise<EncryptedFileStream>): Promise<EncryptedFileStream> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error('the host does not answer'));
      opening.then(
        ({ bytes }) => bytes.on('error', () => undefined).destroy(),
        () => undefined,
      );
    }, IDLE_TIMEOUT_MS);
  });
  try {
    return await Promise.race([opening, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Statuses with which the network's hosts report a file as deleted or moved. */
const EXPIRED_STATUSES = new Set([403, 404, 410]);

export function classifyError(error: unknown): AttemptFailure {
  if (error instanceof InternalApiRefusal) return 'refused';
  if (error instanceof InternalApiUnreachable) return 'api_unavailable';
  const { output, code } = error as { output?: { statusCode?: number }; code?: string };
  if (output?.statusCode !== undefined && EXPIRED_STATUSES.has(output.statusCode)) return 'expired';
  // Bytes that do not decrypt are not the announced file.
  return code?.startsWith('ERR_OSSL') ? 'hash_mismatch' : 'host_unavailable';
}

/** Passes a file on and fails when its hash, its size or a pause between bytes breaks the limits. */
class VerifiedFile extends Transform {
  readonly #hash = createHash('sha256');
  readonly #expected: Buffer;
  #size = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  failure: AttemptFailure | undefined;

  constructor(expected: Buffer) {
    super();
    this.#expected = expected;
    // The reader handles the error. Without a reader it must not end the process.
    this.on('error', () => undefined);
    this.on('pipe', () => this.#restartIdleTimer());
  }

  /** Stops reading the file. */
  fail(failure: AttemptFailure): void {
    this.failure ??= failure;
    this.destroy(new Error(`received file rejected: ${failure}`));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#restartIdleTimer();
    this.#size += chunk.length;
    if (this.#size > MAX_BYTES) return this.fail('too_large');
    this.#hash.update(chunk);
    done(null, chunk);
  }

  override _flush(done: TransformCallback): void {
    const received = this.#hash.digest();
    if (received.equals(this.#expected)) done();
    else this.fail('hash_mismatch');
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#idleTimer);
    done(error);
  }

  #restartIdleTimer(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => this.fail('host_unavailable'), IDLE_TIMEOUT_MS);
  }
}

const BLOCK = 16;

/**
 * AES-256-CBC without the trailing ten-byte signature, which is no whole block. The file is verified by the hash in
 * the message instead.
 */
class FileDecryption extends Transform {
  readonly #cipher: Decipheriv;
  #rest: Buffer = Buffer.alloc(0);

  constructor(key: Uint8Array, iv: Uint8Array) {
    super();
    this.#cipher = createDecipheriv('aes-256-cbc', key, iv);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const sealed = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const whole = sealed.length - (sealed.length % BLOCK);
    this.#rest = sealed.subarray(whole);
    done(null, this.#cipher.update(sealed.subarray(0, whole)));
  }

  override _flush(done: TransformCallback): void {
    try {
      done(null, this.#cipher.final());
    } catch (error) {
      done(error as Error);
    }
  }
}
