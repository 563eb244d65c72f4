import { createCipheriv, createDecipheriv, randomBytes, type CipherGCM } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';

/**
 * Files at rest (design: At rest): AES-256-GCM in chunks of 64 KiB under a key of the file's own, so that a file is
 * sealed and opened as it streams, and opened from its middle. The nonce of a chunk is its number, so chunks cannot
 * change places; the row knows the size, so none can be cut off. Each file has its own random key, used for nothing
 * else; it is kept sealed in the row, and taking it away takes the file away.
 *
 * Form: chunks of (64 KiB of ciphertext | tag of 16), the last one shorter or full.
 */
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

/** Plain bytes in, sealed ones out: each piece at once, so that nothing is copied but into its sealed form. */
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

/** Where the bytes `start` to `end` (both included) of a file lie in its sealed form. */
export interface SealedRange {
  /** Of the sealed file, both included. */
  start: number;
  end: number;
  /** The first chunk, and of its plain bytes those to leave out. */
  chunk: number;
  skip: number;
  /** How many plain bytes are wanted. */
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

/** The sealed bytes of a range in, its plain ones out. Fails with BrokenFile; nothing unproved is let out. */
export class Unseal extends Transform {
  readonly #key: Buffer;
  readonly #range: SealedRange;
  #chunk: number;
  #skip: number;
  #left: number;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(key: Buffer, range: SealedRange) {
    super({ highWaterMark: SEALED_CHUNK });
    this.#key = key;
    this.#range = range;
    this.#chunk = range.chunk;
    this.#skip = range.skip;
    this.#left = range.length;
  }

  override _transform(data: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#held.push(data);
    this.#heldBytes += data.length;
    if (this.#heldBytes < SEALED_CHUNK) return done();
    let held = Buffer.concat(this.#held);
    try {
      while (held.length >= SEALED_CHUNK) {
        this.#open(held.subarray(0, SEALED_CHUNK));
        held = held.subarray(SEALED_CHUNK);
      }
    } catch (error) {
      return done(error as Error);
    }
    this.#held = [Buffer.from(held)];
    this.#heldBytes = held.length;
    done();
  }

  override _flush(done: TransformCallback): void {
    try {
      if (this.#heldBytes > 0) this.#open(Buffer.concat(this.#held));
      if (this.#left > 0) throw new BrokenFile('the file is shorter than its row says');
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  #open(sealed: Buffer): void {
    const { lastChunk } = this.#range;
    if (sealed.length < TAG || this.#chunk > lastChunk)
      throw new BrokenFile('the file is not as its row says');
    const nonce = nonceOf(this.#chunk);
    const decipher = createDecipheriv(ALGORITHM, this.#key, nonce, { authTagLength: TAG });
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG));
    let plain: Buffer;
    try {
      plain = Buffer.concat([decipher.update(sealed.subarray(0, sealed.length - TAG)), decipher.final()]);
    } catch {
      throw new BrokenFile('the file was changed or its key is another');
    }
    const wanted = plain.subarray(this.#skip, this.#skip + this.#left);
    this.#chunk += 1;
    this.#skip = 0;
    this.#left -= wanted.length;
    if (wanted.length > 0) this.push(wanted);
  }
}
