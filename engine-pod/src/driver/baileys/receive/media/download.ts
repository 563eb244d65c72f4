import { createDecipheriv, createHash, type Decipheriv } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import {
  DEFAULT_ORIGIN,
  getMediaKeys,
  getUrlFromDirectPath,
  type MediaType,
  type proto,
} from '@whiskeysockets/baileys';
import { shortenFilename } from '@gwk/core/text/filenames';
import { isMachineFault } from '@gwk/core/process/machine-fault';
import { InternalApiRefusal, InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import type { DriverContext } from '../../../driver.js';
import { IDLE_TIMEOUT_MS, type NetworkRoute } from '../../connection/network-route.js';

/** Description of a received file in its message. */
export type FileDescription = Pick<
  proto.Message.IDocumentMessage,
  'directPath' | 'mediaKey' | 'fileSha256' | 'fileLength' | 'mimetype' | 'fileName' | 'title'
> &
  Pick<proto.Message.IAudioMessage, 'seconds' | 'ptt'>;

/** Reason why one attempt failed. */
export type AttemptFailure =
  /** To the network, or this machine lacks a resource for it. */
  | 'no_connection'
  | 'host_unavailable'
  | 'api_unavailable'
  /** The network's hosts no longer have it. */
  | 'expired'
  | 'hash_mismatch'
  | 'too_large'
  | 'empty'
  /** Refused for good by the API, or because of the path it states. */
  | 'refused';

/** Facts from the message about its file. */
export function describeFile(file: FileDescription): ReturnType<typeof describeHints> & { size?: number } {
  const size = Number(file.fileLength ?? 0);
  return { ...describeHints(file), ...(Number.isSafeInteger(size) && size > 0 && { size }) };
}

function describeHints({ mimetype, fileName, title }: FileDescription): {
  mimetype?: string;
  filename?: string;
} {
  const name = fileName || title;
  return {
    ...(mimetype && { mimetype: mimetype.slice(0, 120) }),
    ...(name && { filename: shortenFilename(name) }),
  };
}

interface FileDownload {
  file: FileDescription;
  type: MediaType;
  /** Finds the host that the network named. The sender could choose the one in the message. */
  findHost: (() => Promise<string>) | undefined;
  storeFile: DriverContext['storeFile'];
  route: Pick<NetworkRoute, 'get'>;
}

/**
 * Makes one attempt to stream a file from the network to the API. It does not use Baileys' download, which returns the
 * end of a pipe and handles no errors at its beginning: a broken host connection would end the process.
 */
export async function downloadFile({
  file,
  type,
  findHost,
  storeFile,
  route,
}: FileDownload): Promise<{ media_id: string } | AttemptFailure> {
  // The path is appended to the host name. Without a leading slash it would change the host.
  if (!file.directPath?.startsWith('/')) return 'refused';
  const host = await findHost?.().catch(() => undefined);
  if (host === undefined) return 'no_connection';
  const { cipherKey, iv } = await getMediaKeys(file.mediaKey, type);
  const decryption = new FileDecryption(createDecipheriv('aes-256-cbc', cipherKey, iv), file.fileSha256!);
  const request = new AbortController();
  const idleTimer = setTimeout(() => request.abort(), IDLE_TIMEOUT_MS);
  try {
    const url = getUrlFromDirectPath(file.directPath, host);
    const { ok, status, body: bytes } = await route.get(url, { Origin: DEFAULT_ORIGIN }, request.signal);
    if (!ok) return classifyStatus(status);
    bytes.on('data', () => idleTimer.refresh());
    bytes.on('error', (error) => decryption.fail(classifyError(error)));
    const { media_id } = await storeFile(bytes.pipe(decryption), describeFile(file));
    return { media_id };
  } catch (error) {
    return decryption.failure ?? classifyError(error);
  } finally {
    clearTimeout(idleTimer);
    request.abort();
    decryption.destroy();
  }
}

/** Statuses with which the network's hosts report a file as deleted or moved. */
const EXPIRED_STATUSES = new Set([403, 404, 410]);

export const classifyStatus = (status: number): AttemptFailure =>
  EXPIRED_STATUSES.has(status) ? 'expired' : 'host_unavailable';

export function classifyError(error: unknown): AttemptFailure {
  if (error instanceof InternalApiRefusal) return error.refusal === 'too-large' ? 'too_large' : 'refused';
  if (error instanceof InternalApiUnreachable) return 'api_unavailable';
  // Retried for longer than a host that is unavailable.
  if (isMachineFault(error)) return 'no_connection';
  const { code } = error as { code?: unknown };
  // Bytes that do not decrypt are not the announced file.
  return String(code).startsWith('ERR_OSSL') ? 'hash_mismatch' : 'host_unavailable';
}

const BLOCK = 16;

/**
 * Decrypts a file and fails when its hash is wrong or it is empty. The API limits its size. AES-256-CBC without the trailing ten-byte
 * signature, which is no whole block: the file is verified by the hash in the message instead.
 */
class FileDecryption extends Transform {
  readonly #cipher: Decipheriv;
  readonly #hash = createHash('sha256');
  readonly #expected: Uint8Array;
  #rest: Buffer = Buffer.alloc(0);
  #size = 0;
  failure: AttemptFailure | undefined;

  constructor(cipher: Decipheriv, expected: Uint8Array) {
    super();
    this.#cipher = cipher;
    this.#expected = expected;
    // The reader handles the error. Without a reader it must not end the process.
    this.on('error', () => undefined);
  }

  /** Stops reading the file. */
  fail(failure: AttemptFailure): void {
    this.failure ??= failure;
    this.destroy(new Error(`received file rejected: ${failure}`));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const sealed = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const whole = sealed.length - (sealed.length % BLOCK);
    this.#rest = sealed.subarray(whole);
    this.#pass(this.#cipher.update(sealed.subarray(0, whole)));
    done();
  }

  override _flush(done: TransformCallback): void {
    try {
      this.#pass(this.#cipher.final());
    } catch (error) {
      return this.fail(classifyError(error));
    }
    const received = this.#hash.digest();
    if (!received.equals(this.#expected)) this.fail('hash_mismatch');
    else if (this.#size === 0) this.fail('empty');
    else done();
  }

  #pass(bytes: Buffer): void {
    this.#size += bytes.length;
    this.#hash.update(bytes);
    this.push(bytes);
  }
}
