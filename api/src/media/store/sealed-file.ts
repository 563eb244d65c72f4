import { freeBuffer } from '../../platform/buffers.js';
import { createCipheriv, createDecipheriv, randomBytes, type CipherGCM } from 'node:crypto';

// File format: chunks of 64 KiB of ciphertext (the last one may be shorter), each followed by a 16-byte tag of
// AES-256-GCM. The nonce is the number of the chunk, so chunks cannot be swapped, and the row has the size, so the end
// cannot be cut off. Every file has its own random key; the row stores it encrypted, and deleting it deletes the file
// (docs/decisions/0008-encrypt-media-files-and-decode-them-in-a-separate-process.md).
export const CHUNK = 65_536;
const TAG = 16;
export const SEALED_CHUNK = CHUNK + TAG;
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

/**
 * Encrypts a stream. It encrypts each piece at once instead of collecting whole chunks, which saves a copy. A buffer is valid
 * until the next one is requested.
 */
export async function* seal(plain: AsyncIterable<Buffer>, key: Buffer): AsyncGenerator<Buffer> {
  let chunk = 0;
  let inChunk = 0;
  let cipher: CipherGCM | undefined;
  for await (const data of plain) {
    for (let at = 0; at < data.length;) {
      const piece = data.subarray(at, at + CHUNK - inChunk);
      cipher ??= createCipheriv(ALGORITHM, key, nonceOf(chunk++));
      const bytes = cipher.update(piece);
      yield bytes;
      freeBuffer(bytes);
      at += piece.length;
      inChunk += piece.length;
      if (inChunk < CHUNK) continue;
      yield endChunk(cipher);
      cipher = undefined;
      inChunk = 0;
    }
  }
  if (cipher) yield endChunk(cipher);
}

function endChunk(cipher: CipherGCM): Buffer {
  cipher.final();
  return cipher.getAuthTag();
}

type SealedRange = ReturnType<typeof sealedRange>;

/** Position of a range of plain bytes in the encrypted file. */
export function sealedRange(size: number, start: number, end: number) {
  const lastChunk = Math.max(0, Math.ceil(size / CHUNK) - 1);
  const chunk = Math.floor(start / CHUNK);
  const until = Math.min(Math.floor(Math.max(start, end) / CHUNK), lastChunk);
  const sealedSize = size + (lastChunk + 1) * TAG;
  return {
    /** Bytes of the encrypted file, both included. */
    start: chunk * SEALED_CHUNK,
    end: Math.min((until + 1) * SEALED_CHUNK, sealedSize) - 1,
    /** Number of the first chunk. */
    chunk,
    /** Plain bytes to skip in it. */
    skip: start - chunk * CHUNK,
    /** Plain bytes of the range. */
    length: end - start + 1,
  };
}

/** Decrypts a range. Yields only authenticated bytes, in buffers of their own. @throws BrokenFile */
export async function* unseal(
  sealed: AsyncIterable<Buffer>,
  key: Buffer,
  range: SealedRange,
): AsyncGenerator<Buffer> {
  let { chunk, skip, length: left } = range;
  const buffer = Buffer.allocUnsafeSlow(SEALED_CHUNK);
  try {
    for await (const bytes of splitChunks(sealed, buffer)) {
      const plain = openChunk(bytes, key, chunk);
      const wanted = copyPart(plain, skip, skip + left);
      chunk += 1;
      skip = 0;
      left -= wanted.length;
      if (wanted.length > 0) yield wanted;
    }
  } finally {
    freeBuffer(buffer);
  }
  if (left > 0) throw new BrokenFile('the file is shorter than its row says');
}

/** Only a whole buffer can be freed. */
function copyPart(plain: Buffer, start: number, end: number): Buffer {
  const wanted = plain.subarray(start, end);
  if (wanted.length === plain.length) return plain;
  const part = Buffer.allocUnsafeSlow(wanted.length);
  wanted.copy(part);
  freeBuffer(plain);
  return part;
}

/** Yields the same buffer again and again: the consumer must have read it before it asks for the next chunk. */
async function* splitChunks(sealed: AsyncIterable<Buffer>, chunk: Buffer): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const bytes of sealed) {
    for (let at = 0; at < bytes.length;) {
      const copied = bytes.copy(chunk, size, at);
      at += copied;
      size += copied;
      if (size < SEALED_CHUNK) continue;
      yield chunk;
      size = 0;
    }
  }
  if (size > 0) yield chunk.subarray(0, size);
}

function openChunk(sealed: Buffer, key: Buffer, chunk: number): Buffer {
  try {
    const decipher = createDecipheriv(ALGORITHM, key, nonceOf(chunk), { authTagLength: TAG });
    decipher.setAuthTag(sealed.subarray(-TAG));
    const plain = decipher.update(sealed.subarray(0, -TAG));
    // Throws unless the tag is authentic. GCM has no padding, so it returns no bytes.
    decipher.final();
    return plain;
  } catch {
    throw new BrokenFile('the file was changed or has another key');
  }
}
