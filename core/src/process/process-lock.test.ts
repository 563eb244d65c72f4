import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LockHeldError, acquireProcessLock } from './process-lock.js';

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
  expect(existsSync(`${path}.pid`)).toBe(false);
});

test.each([
  ['of an exited process', '999999999'],
  ['whose pid another process has now', String(process.pid)],
  ['that a crash of the machine left empty', ''],
])('takes over a lock %s', (_, text) => {
  writeFileSync(`${path}.pid`, text);
  const lock = acquireProcessLock(path);
  expect(lock.wasAbandoned).toBe(true);
  lock.release();
});

test('ignores a release by a former holder', () => {
  const lock = acquireProcessLock(path);
  lock.release();
  const next = acquireProcessLock(path);
  lock.release();
  expect(() => acquireProcessLock(path)).toThrow(String(process.pid));
  next.release();
});
