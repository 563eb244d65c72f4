import { createDecipheriv, type Decipheriv } from 'node:crypto';
import { Transform, type Readable, type TransformCallback } from 'node:stream';
import {
  DEFAULT_ORIGIN,
  getHttpStream,
  getMediaKeys,
  getUrlFromDirectPath,
  type MediaType,
} from '@whiskeysockets/baileys';

/** Location and key of an encrypted file. */
interface EncryptedFile {
  directPath: string;
  mediaKey: Uint8Array;
}

/** The encrypted bytes and the transform that decrypts them. */
export interface EncryptedFileStream {
  bytes: Readable;
  decryption: FileDecryption;
}

/**
 * Opens an encrypted file. Baileys' own download returns the end of a pipe and nobody handles errors at its
 * beginning, so a broken host connection would end the process.
 *
 * @throws Boom with the status of a host that refuses; TypeError when there is no host
 */
export async function openEncryptedFile(
  { directPath, mediaKey }: EncryptedFile,
  type: MediaType,
  host: string,
): Promise<EncryptedFileStream> {
  const { cipherKey, iv } = await getMediaKeys(mediaKey, type);
  const url = getUrlFromDirectPath(directPath, host);
  const bytes = await getHttpStream(url, { headers: { Origin: DEFAULT_ORIGIN } });
  return { bytes, decryption: new FileDecryption(cipherKey, iv) };
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
