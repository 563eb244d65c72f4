import { createDecipheriv, type Decipheriv } from 'node:crypto';
import { Transform, type Readable, type TransformCallback } from 'node:stream';
import {
  DEFAULT_ORIGIN,
  getHttpStream,
  getMediaKeys,
  getUrlFromDirectPath,
  type MediaType,
} from '@whiskeysockets/baileys';

/** Where a sealed file is, and with what it was sealed. */
export interface EncryptedFile {
  directPath: string;
  mediaKey: Uint8Array;
}

/** Its bytes as they are on the network, and what makes a file of them. */
export interface EncryptedFileStream {
  bytes: Readable;
  decryption: FileDecryption;
}

/**
 * Not by Baileys' own download: that gives the end of a pipe, whose beginning nobody hears when the host breaks off, and
 * what nobody hears ends the process.
 *
 * @throws Boom with the status of a host that refuses; TypeError where there is none
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
 * AES-256-CBC, without the ten bytes of its signature at the end, which make no block: the hash of the file, which the
 * message tells, is what it is held against.
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
