import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { mediaStoreSettings } from '@gwk/core/config/media';
import { loadConfig } from '@gwk/core/config/load';
import { hasObjectStore, LEFT_OUT, ObjectStore } from '@gwk/test/support/servers/object-store';
import { openMediaStore } from './open-store.js';
import { FileMissing, type MediaStore } from './store.js';

/**
 * Both stores keep the same promises: a folder, and a bucket of a real S3 server: versitygw, or the one that the
 * environment names (docs/media.md).
 */
const folder = mkdtempSync(join(tmpdir(), 'gwk-stores-'));
let objects: ObjectStore | undefined;
const stores = new Map<string, MediaStore>();

beforeAll(async () => {
  const open = (env: Record<string, string>) => openMediaStore(loadConfig(mediaStoreSettings, env));
  stores.set('a folder', await open({ GWK_MEDIA_FOLDER: join(folder, 'media') }));
  if (!hasObjectStore) return;
  objects = await ObjectStore.start();
  stores.set('a bucket', await open(objects.environment));
}, 600_000);
afterAll(async () => {
  for (const store of stores.values()) store.close();
  await objects?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const whole = { start: 0, end: Number.MAX_SAFE_INTEGER };
const write = (store: MediaStore, key: string, bytes: Buffer) =>
  store.write(key, Readable.from([bytes.subarray(0, 5), bytes.subarray(5)]));

describe('a folder', () => keepsItsPromises('a folder'));
if (hasObjectStore) describe('a bucket', () => keepsItsPromises('a bucket'));
else describe.skip(LEFT_OUT, () => keepsItsPromises('a bucket'));

function keepsItsPromises(name: string): void {
  let store: MediaStore;
  beforeAll(() => {
    store = stores.get(name)!;
  });

  test('can be written to, as often as it is tried', async () => {
    await store.check();
    await store.check();
  });

  test('gives back what it was given, and parts of it', async () => {
    const key = randomUUID();
    const bytes = randomBytes(100_000);
    await write(store, key, bytes);
    expect(await buffer(await store.read(key, { start: 0, end: 99_999 }))).toEqual(bytes);
    expect(await buffer(await store.read(key, { start: 500, end: 600 }))).toEqual(bytes.subarray(500, 601));
  });

  test('takes files larger than what it sends at a time', async () => {
    const key = randomUUID();
    const bytes = randomBytes(12_000_000);
    await write(store, key, bytes);
    const read = await buffer(await store.read(key, { start: 0, end: bytes.length - 1 }));
    expect(read.equals(bytes)).toBe(true);
  });

  test('says what it does not have, before and after it had it', async () => {
    const key = randomUUID();
    await expect(store.read(key, whole)).rejects.toThrow(FileMissing);
    await write(store, key, randomBytes(10));
    await store.remove(key);
    await expect(store.read(key, whole)).rejects.toThrow(FileMissing);
    await store.remove(key);
  });

  test('keeps nothing that can be read of a file whose source breaks off', async () => {
    const key = randomUUID();
    const source = Readable.from(
      (async function* () {
        yield randomBytes(6_000_000);
        throw new Error('broken off');
      })(),
    );
    await expect(store.write(key, source)).rejects.toThrow();
    await expect(store.read(key, whole)).rejects.toThrow(FileMissing);
  });
}

test('a folder keeps no rest of a file that broke off', async () => {
  const key = randomUUID();
  const source = new Readable({ read() {} });
  const written = stores.get('a folder')!.write(key, source);
  source.push('half');
  source.destroy(new Error('broken off'));
  await expect(written).rejects.toThrow();
  const names = readdirSync(join(folder, 'media'), { recursive: true }).map(String);
  expect(names.filter((one) => one.includes(key) && one.endsWith('.part'))).toEqual([]);
});

test('a key that is no key of ours leads to no file', async () => {
  await expect(stores.get('a folder')!.read('../../etc/passwd', whole)).rejects.toThrow('not a key');
});
