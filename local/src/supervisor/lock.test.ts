import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AlreadyRunning, acquireLock } from './lock.js';

test('refuses a second gateway and names the first', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lock-'));
  const file = join(folder, 'lock');
  const lock = acquireLock(file);
  expect(() => acquireLock(file)).toThrow(AlreadyRunning);
  expect(() => acquireLock(file)).toThrow(`pid ${process.pid}`);
  lock.release();
  acquireLock(file).release();
  rmSync(folder, { recursive: true });
});
