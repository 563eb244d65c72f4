import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LockHeldError, acquireProcessLock } from './process-lock.js';

const NOBODY = '999999999 1@x';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwk-lock-'));
  path = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('admits one holder, names it to others, and is free after its release', () => {
  const lock = acquireProcessLock(path);
  expect(lock.wasAbandoned).toBe(false);
  expect(() => acquireProcessLock(path)).toThrow(LockHeldError);
  expect(() => acquireProcessLock(path)).toThrow(String(process.pid));
  lock.release();
  const next = acquireProcessLock(path);
  expect(next.wasAbandoned).toBe(false);
  next.release();
  expect(readdirSync(folder)).toEqual(['lock.2']);
});

test.each([
  ['of an exited process', NOBODY],
  ['whose pid another process has now', `${process.pid} 1@x`],
  ['that a crash of the machine left empty', ''],
])('takes over a lock %s', (_, text) => {
  writeFileSync(`${path}.9`, text);
  expect(acquireProcessLock(path).wasAbandoned).toBe(true);
  expect(readdirSync(folder)).toEqual(['lock.10']);
});

test('ignores a release by a former holder', () => {
  const lock = acquireProcessLock(path);
  writeFileSync(`${path}.1`, NOBODY);
  acquireProcessLock(path);
  lock.release();
  expect(readFileSync(`${path}.2`, 'utf8')).toMatch(new RegExp(`^${process.pid} `));
});
