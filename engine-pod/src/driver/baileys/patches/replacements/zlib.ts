import { createInflate as stockStream, inflate as stockInflate, type Inflate } from 'node:zlib';

/**
 * The part of zlib that Baileys uses, with a size limit: a sender can choose an unpacked size a thousand times the
 * packed one. A network frame has at most 16 MB before unpacking; a chunk of history has a few MB after it.
 */
const MAX_BYTES = 32_000_000;

type Done = (error: Error | null, bytes: Buffer) => void;

export function inflate(bytes: Uint8Array, done: Done): void {
  stockInflate(bytes, { maxOutputLength: MAX_BYTES }, done);
}

export function createInflate(): Inflate {
  const stream = stockStream();
  const push = stream.push.bind(stream);
  let size = 0;
  stream.push = (chunk: Uint8Array | null, ...more) => {
    size += chunk?.length ?? 0;
    if (size <= MAX_BYTES) return push(chunk, ...more);
    stream.destroy(new Error('decompressed data exceeds the limit'));
    return false;
  };
  return stream;
}
