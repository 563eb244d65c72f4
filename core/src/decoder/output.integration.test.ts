import { execFileSync } from 'node:child_process';
import { linkSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_MEDIA_BYTES } from '../resources/media.js';
import { withoutFileHandles } from '@gwk/test/support/file-handles';
import { openOutput } from './output.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-output-'));
const secret = join(folder, 'secret');
writeFileSync(secret, 'the secret');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
/** Reads an output that the function makes. */
async function read(make: (path: string) => void): Promise<string> {
  const path = join(folder, `output-${++count}`);
  make(path);
  await using file = await openOutput(path);
  return file.readFile('utf8');
}

test('reads a file', async () => {
  expect(await read((path) => writeFileSync(path, 'a picture'))).toBe('a picture');
});

test.each<[string, (path: string) => void]>([
  ['a link to a secret', (path) => symlinkSync(secret, path)],
  ['a second name of a secret', (path) => linkSync(secret, path)],
  ['a pipe that never ends', (path) => void execFileSync('mkfifo', [path])],
  ['a folder', (path) => void execFileSync('mkdir', [path])],
  ['no file', () => undefined],
  [
    'a file above the limit',
    (path) => {
      writeFileSync(path, '');
      truncateSync(path, MAX_MEDIA_BYTES + 1);
    },
  ],
])('refuses %s', async (_, make) => {
  await expect(read(make)).rejects.toThrow('the file cannot be decoded');
});

test('a lack of file handles is not a fault of the file', async () => {
  const path = join(folder, 'good');
  writeFileSync(path, 'a picture');
  await expect(withoutFileHandles(() => openOutput(path))).rejects.toMatchObject({ code: 'EMFILE' });
});
