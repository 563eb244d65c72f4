import { openMediaStore } from '@gwk/api/media/media';
import { loadConfig } from '@gwk/core/config/load';
import { mediaStoreSettings } from '@gwk/core/config/media';
import { testMediaStore } from '../support/api/media-store.js';
import { hasObjectStore, LEFT_OUT, ObjectStore } from '../support/servers/object-store.js';

/** Runs against a real S3 server: versitygw, or the one named by the environment (docs/media.md). */
let objects: ObjectStore | undefined;
afterAll(() => objects?.stop());

async function open() {
  objects = await ObjectStore.start();
  return openMediaStore(loadConfig(mediaStoreSettings, objects.environment));
}

if (hasObjectStore) describe('a bucket', () => testMediaStore(open));
else describe.skip(LEFT_OUT, () => testMediaStore(open));
