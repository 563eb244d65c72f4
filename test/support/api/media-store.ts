import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { FileMissing, type MediaStore, type Range } from '@gwk/api/media/store/store';

export const WHOLE = { start: 0, end: Number.MAX_SAFE_INTEGER };
const write = (store: MediaStore, key: string, bytes: Buffer) =>
  store.write(key, Readable.from([bytes.subarray(0, 5), bytes.subarray(5)]));

async function readRange(store: MediaStore, key: string, range: Range): Promise<Buffer> {
  const copies: Buffer[] = [];
  for await (const bytes of await store.read(key, range)) copies.push(Buffer.from(bytes));
  return Buffer.concat(copies);
}

/** Tests that every media store passes: folder and bucket. */
export function testMediaStore(open: () => Promise<MediaStore>): void {
  let store: MediaStore;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store.close());

  test('accepts repeated writes of a key', async () => {
    await store.check();
    await store.check();
  });

  test('returns a file and ranges of it', async () => {
    const key = randomUUID();
    const bytes = randomBytes(100_000);
    await write(store, key, bytes);
    expect(await readRange(store, key, { start: 0, end: 99_999 })).toEqual(bytes);
    expect(await readRange(store, key, { start: 500, end: 600 })).toEqual(bytes.subarray(500, 601));
  });

  test('stores files larger than one chunk', async () => {
    const key = randomUUID();
    const bytes = randomBytes(12_000_000);
    await write(store, key, bytes);
    const read = await readRange(store, key, { start: 0, end: bytes.length - 1 });
    expect(read.equals(bytes)).toBe(true);
  });

  test('reports missing keys before a write and after a delete', async () => {
    const key = randomUUID();
    await expect(store.read(key, WHOLE)).rejects.toThrow(FileMissing);
    await write(store, key, randomBytes(10));
    await store.remove(key);
    await expect(store.read(key, WHOLE)).rejects.toThrow(FileMissing);
    await store.remove(key);
  });

  test('keeps no readable file after its source fails', async () => {
    const key = randomUUID();
    const source = Readable.from(
      (async function* () {
        yield randomBytes(6_000_000);
        throw new Error('broken off');
      })(),
    );
    await expect(store.write(key, source)).rejects.toThrow();
    await expect(store.read(key, WHOLE)).rejects.toThrow(FileMissing);
  });
}
