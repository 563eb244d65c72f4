import { createInflate as stockStream, inflate as stockInflate, type Inflate } from 'node:zlib';

/**
 * What Baileys uses of zlib, with an end: whoever packs chooses how large the unpacked is, a thousand times the packed. A
 * frame of the network has 16 MB at most as it comes; a part of what a phone remembers has a few, unpacked.
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
    stream.destroy(new Error('more is unpacked than is read'));
    return false;
  };
  return stream;
}
