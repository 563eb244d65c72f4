import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { BrokenFile, CHUNK, newFileKey, seal, sealedRange, unseal } from './sealed-file.js';

const key = newFileKey();

/** Splits bytes into pieces of odd sizes, like a socket. */
function pieces(bytes: Buffer, size: number): Readable {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) parts.push(bytes.subarray(at, at + size));
  return Readable.from(parts);
}

async function sealed(plain: Buffer): Promise<Buffer> {
  const copies: Buffer[] = [];
  for await (const bytes of seal(pieces(plain, 10_007), key)) copies.push(Buffer.from(bytes));
  return Buffer.concat(copies);
}

function open(file: Buffer, size: number, [start, end]: number[], by = key): Promise<Buffer> {
  const range = sealedRange(size, start!, end!);
  return buffer(unseal(pieces(file.subarray(range.start, range.end + 1), 7_001), by, range));
}

const SIZES = [1, 15, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 17];

test.each(SIZES)('a file of %i bytes is encrypted and decrypted', async (size) => {
  const plain = Buffer.alloc(size, 'marker');
  const file = await sealed(plain);
  expect(file.includes('marker')).toBe(false);
  expect(await open(file, size, [0, size - 1])).toEqual(plain);
});

test.each([
  [0, 0],
  [CHUNK - 1, CHUNK],
  [CHUNK, 2 * CHUNK - 1],
  [CHUNK + 5, 3 * CHUNK + 16],
  [3 * CHUNK + 16, 3 * CHUNK + 16],
])('decrypts the range from %i to %i alone', async (start, end) => {
  const plain = randomBytes(3 * CHUNK + 17);
  expect(await open(await sealed(plain), plain.length, [start, end])).toEqual(plain.subarray(start, end + 1));
});

describe('decryption fails for a file', () => {
  const plain = randomBytes(3 * CHUNK);
  const whole = async (change: (file: Buffer) => Buffer, by = key) =>
    open(change(await sealed(plain)), plain.length, [0, plain.length - 1], by);
  const SEALED = CHUNK + 16;

  test.each<[string, (file: Buffer) => Buffer]>([
    ['that was changed', (file) => (file.writeUInt8(file[5]! ^ 1, 5), file)],
    ['without its last byte', (file) => file.subarray(0, file.length - 1)],
    ['without its last chunk', (file) => file.subarray(0, 2 * SEALED)],
    [
      'with swapped chunks',
      (file) =>
        Buffer.concat([
          file.subarray(SEALED, 2 * SEALED),
          file.subarray(0, SEALED),
          file.subarray(2 * SEALED),
        ]),
    ],
  ])('%s', async (_, change) => {
    await expect(whole(change)).rejects.toThrow(BrokenFile);
  });

  test('with another key', async () => {
    await expect(whole((file) => file, newFileKey())).rejects.toThrow(BrokenFile);
  });
});
