import { createCipheriv, createDecipheriv, randomBytes, type CipherGCM } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';

// File format: chunks of 64 KiB of ciphertext (the last one may be shorter), each followed by a 16-byte tag of
// AES-256-GCM. The nonce is the number of the chunk, so chunks cannot be swapped, and the row has the size, so the end
// cannot be cut off. Every file has its own random key; the row stores it encrypted, and deleting it deletes the file
// (docs/decisions/0008-encrypt-media-files-and-decode-them-in-a-separate-process.md).
export const CHUNK = 65_536;
const TAG = 16;
const SEALED_CHUNK = CHUNK + TAG;
const NONCE = 12;
const ALGORITHM = 'aes-256-gcm';

export const newFileKey = (): Buffer => randomBytes(32);

export class BrokenFile extends Error {
  override name = 'BrokenFile';
}

function nonceOf(chunk: number): Buffer {
  const nonce = Buffer.alloc(NONCE);
  nonce.writeUIntBE(chunk, 0, 6);
  return nonce;
}

/** Encrypts a stream. It encrypts each piece at once instead of collecting whole chunks, which saves a copy. */
export class Seal extends Transform {
  readonly #key: Buffer;
  #chunk = 0;
  #cipher: CipherGCM | undefined;
  #inChunk = 0;

  constructor(key: Buffer) {
    super({ highWaterMark: CHUNK });
    this.#key = key;
  }

  override _transform(data: Buffer, _: BufferEncoding, done: TransformCallback): void {
    let left = data;
    while (left.length > 0) {
      const piece = left.subarray(0, CHUNK - this.#inChunk);
      left = left.subarray(piece.length);
      this.#cipher ??= createCipheriv(ALGORITHM, this.#key, nonceOf(this.#chunk++));
      this.push(this.#cipher.update(piece));
      this.#inChunk += piece.length;
      if (this.#inChunk === CHUNK) this.#endChunk();
    }
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#endChunk();
    done();
  }

  #endChunk(): void {
    if (!this.#cipher) return;
    this.#cipher.final();
    this.push(this.#cipher.getAuthTag());
    this.#cipher = undefined;
    this.#inChunk = 0;
  }
}

/** Position of a range of plain bytes in the encrypted file. */
interface SealedRange {
  /** Bytes of the encrypted file, both included. */
  start: number;
  end: number;
  /** Number of the first chunk. */
  chunk: number;
  /** Plain bytes to skip in it. */
  skip: number;
  /** Plain bytes of the range. */
  length: number;
  lastChunk: number;
}

export function sealedRange(size: number, start: number, end: number): SealedRange {
  const lastChunk = Math.max(0, Math.ceil(size / CHUNK) - 1);
  const chunk = Math.floor(start / CHUNK);
  const until = Math.min(Math.floor(Math.max(start, end) / CHUNK), lastChunk);
  const sealedSize = size + (lastChunk + 1) * TAG;
  return {
    start: chunk * SEALED_CHUNK,
    end: Math.min((until + 1) * SEALED_CHUNK, sealedSize) - 1,
    chunk,
    skip: start - chunk * CHUNK,
    length: end - start + 1,
    lastChunk,
  };
}

/** Decrypts a range. Fails with BrokenFile; emits only authenticated bytes. */
export class Unseal extends Transform {
  readonly #key: Buffer;
  readonly #range: SealedRange;
  #chunk: number;
  #skip: number;
  #left: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(key: Buffer, range: SealedRange) {
    super({ highWaterMark: SEALED_CHUNK });
    this.#key = key;
    this.#range = range;
    this.#chunk = range.chunk;
    this.#skip = range.skip;
    this.#left = range.length;
  }

  override _transform(data: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#pending.push(data);
    this.#pendingBytes += data.length;
    if (this.#pendingBytes < SEALED_CHUNK) return done();
    let pending = Buffer.concat(this.#pending);
    try {
      while (pending.length >= SEALED_CHUNK) {
        this.#open(pending.subarray(0, SEALED_CHUNK));
        pending = pending.subarray(SEALED_CHUNK);
      }
    } catch (error) {
      return done(error as Error);
    }
    this.#pending = [Buffer.from(pending)];
    this.#pendingBytes = pending.length;
    done();
  }

  override _flush(done: TransformCallback): void {
    try {
      if (this.#pendingBytes > 0) this.#open(Buffer.concat(this.#pending));
      if (this.#left > 0) throw new BrokenFile('the file is shorter than its row says');
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  #open(sealed: Buffer): void {
    const { lastChunk } = this.#range;
    if (sealed.length < TAG || this.#chunk > lastChunk)
      throw new BrokenFile('the file does not match its row');
    const nonce = nonceOf(this.#chunk);
    const decipher = createDecipheriv(ALGORITHM, this.#key, nonce, { authTagLength: TAG });
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG));
    let plain: Buffer;
    try {
      plain = Buffer.concat([decipher.update(sealed.subarray(0, sealed.length - TAG)), decipher.final()]);
    } catch {
      throw new BrokenFile('the file was changed or has another key');
    }
    const wanted = plain.subarray(this.#skip, this.#skip + this.#left);
    this.#chunk += 1;
    this.#skip = 0;
    this.#left -= wanted.length;
    if (wanted.length > 0) this.push(wanted);
  }
}
