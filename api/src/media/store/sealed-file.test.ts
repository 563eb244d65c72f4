import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { BrokenFile, CHUNK, newFileKey, Seal, sealedRange, Unseal } from './sealed-file.js';

const key = newFileKey();

/** Splits bytes into pieces of odd sizes, like a socket. */
function pieces(bytes: Buffer, size: number): Readable {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) parts.push(bytes.subarray(at, at + size));
  return Readable.from(parts);
}

const seal = (plain: Buffer, by = key) => buffer(pieces(plain, 10_007).pipe(new Seal(by)));

async function open(sealed: Buffer, size: number, [start, end]: number[], by = key): Promise<Buffer> {
  const range = sealedRange(size, start!, end!);
  const plain = new Unseal(by, range);
  pipeline(pieces(sealed.subarray(range.start, range.end + 1), 7_001), plain).catch(() => undefined);
  return buffer(plain);
}

const SIZES = [1, 15, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 17];

test.each(SIZES)('a file of %i bytes is encrypted and decrypted', async (size) => {
  const plain = Buffer.alloc(size, 'marker');
  const sealed = await seal(plain);
  expect(sealed.includes('marker')).toBe(false);
  expect(await open(sealed, size, [0, size - 1])).toEqual(plain);
});

test.each([
  [0, 0],
  [CHUNK - 1, CHUNK],
  [CHUNK, 2 * CHUNK - 1],
  [CHUNK + 5, 3 * CHUNK + 16],
  [3 * CHUNK + 16, 3 * CHUNK + 16],
])('decrypts the range from %i to %i alone', async (start, end) => {
  const plain = randomBytes(3 * CHUNK + 17);
  expect(await open(await seal(plain), plain.length, [start, end])).toEqual(plain.subarray(start, end + 1));
});

describe('decryption fails for a file', () => {
  const plain = randomBytes(3 * CHUNK);
  const whole = async (change: (sealed: Buffer) => Buffer, by = key) =>
    open(change(await seal(plain)), plain.length, [0, plain.length - 1], by);
  const SEALED = CHUNK + 16;

  test.each<[string, (sealed: Buffer) => Buffer]>([
    ['that was changed', (sealed) => (sealed.writeUInt8(sealed[5]! ^ 1, 5), sealed)],
    ['without its last byte', (sealed) => sealed.subarray(0, sealed.length - 1)],
    ['without its last chunk', (sealed) => sealed.subarray(0, 2 * SEALED)],
    [
      'with swapped chunks',
      (sealed) =>
        Buffer.concat([
          sealed.subarray(SEALED, 2 * SEALED),
          sealed.subarray(0, SEALED),
          sealed.subarray(2 * SEALED),
        ]),
    ],
  ])('%s', async (_, change) => {
    await expect(whole(change)).rejects.toThrow(BrokenFile);
  });

  test('with another key', async () => {
    await expect(whole((sealed) => sealed, newFileKey())).rejects.toThrow(BrokenFile);
  });
});
