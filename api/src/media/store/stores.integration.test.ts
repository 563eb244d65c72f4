import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { mediaStoreSettings } from '../../config/media.js';
import { loadConfig } from '@gwk/core/config/load';
import { testMediaStore, WHOLE } from '@gwk/test/support/api/media-store';
import { openMediaStore } from '../media.js';

/** test/interop/media-store.test.ts tests a bucket. */
const folder = mkdtempSync(join(tmpdir(), 'gwk-stores-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open = () =>
  openMediaStore(loadConfig(mediaStoreSettings, { GWK_MEDIA_FOLDER: join(folder, 'media') }));

describe('a folder', () => testMediaStore(open));

test('a folder keeps no temporary file of a failed write', async () => {
  const key = randomUUID();
  const source = new Readable({ read() {} }).on('error', () => undefined);
  const written = (await open()).write(key, source);
  source.push('half');
  source.destroy(new Error('broken off'));
  await expect(written).rejects.toThrow();
  const names = readdirSync(join(folder, 'media'), { recursive: true }).map(String);
  expect(names.filter((one) => one.includes(key) && one.endsWith('.part'))).toEqual([]);
});

test('rejects a key with another format', async () => {
  await expect((await open()).read('../../etc/passwd', WHOLE)).rejects.toThrow('not a key');
});
