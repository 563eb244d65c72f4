import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackDebianPackages } from '@gwk/local/servers/debian-package';

let folder: string;
const path = process.env['PATH'];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwk-package-'));
});
afterEach(() => {
  process.env['PATH'] = path;
  rmSync(folder, { recursive: true, force: true });
});

test('a machine without apt-get has no packages, and nothing is left of the try', () => {
  process.env['PATH'] = folder;
  expect(unpackDebianPackages(['hello'], join(folder, 'cache'))).toBe(false);
  expect(readdirSync(join(folder, 'cache'))).toEqual([]);
});

test('a folder that cannot be made is no error either', () => {
  writeFileSync(join(folder, 'file'), '');
  expect(unpackDebianPackages(['hello'], join(folder, 'file/cache'))).toBe(false);
});
