import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackDebianPackages } from '../../support/debian-package.js';

let folder: string;
const path = process.env['PATH'];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwk-package-'));
});
afterEach(() => {
  process.env['PATH'] = path;
  rmSync(folder, { recursive: true, force: true });
});

test('returns false without apt-get and leaves nothing behind', () => {
  process.env['PATH'] = folder;
  expect(unpackDebianPackages(['hello'], join(folder, 'cache'))).toBe(false);
  expect(readdirSync(join(folder, 'cache'))).toEqual([]);
});

test('returns false if the folder cannot be created', () => {
  writeFileSync(join(folder, 'file'), '');
  expect(unpackDebianPackages(['hello'], join(folder, 'file/cache'))).toBe(false);
});
