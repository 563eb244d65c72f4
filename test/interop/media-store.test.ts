import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { isMarkedAsUntransferable } from 'node:worker_threads';
import { openMediaStore } from '@gwk/api/media/media';
import { loadConfig } from '@gwk/core/config/load';
import { mediaStoreSettings } from '@gwk/core/config/media';
import { testMediaStore } from '../support/api/media-store.js';
import { hasObjectStore, LEFT_OUT, ObjectStore } from '../support/servers/object-store.js';

/** Runs against a real S3 server: versitygw, or the one named by the environment (docs/media.md). */
let objects: ObjectStore | undefined;
afterAll(() => objects?.stop());

async function open() {
  objects ??= await ObjectStore.start();
  return openMediaStore(loadConfig(mediaStoreSettings, objects.environment));
}

if (hasObjectStore) {
  describe('a bucket', () => {
    testMediaStore(open);
    test('frees every buffer of a read after its use', testFreedBuffers);
  });
} else describe.skip(LEFT_OUT, () => testMediaStore(open));

const FILE_BYTES = 2_000_000;

/**
 * A buffer that is not freed would be left to the garbage collection. Node joins small chunks that wait in the memory that
 * small buffers share, which stays. test/load/standing-transfers.test.ts measures memory.
 */
async function testFreedBuffers(): Promise<void> {
  const store = await open();
  try {
    const key = randomUUID();
    await store.write(key, Readable.from([randomBytes(FILE_BYTES)]));
    const used: ArrayBufferLike[] = [];
    let size = 0;
    for (let i = 0; i < 20; i++) {
      for await (const bytes of await store.read(key, { start: 0, end: FILE_BYTES - 1 })) {
        size += bytes.length;
        used.push(bytes.buffer);
      }
    }
    expect(size).toBe(20 * FILE_BYTES);
    const own = used.filter((buffer) => !isMarkedAsUntransferable(buffer));
    expect(own.filter((buffer) => !(buffer as ArrayBuffer).detached)).toEqual([]);
  } finally {
    store.close();
  }
}
