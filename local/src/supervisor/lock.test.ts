import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AlreadyRunning, takeLock } from './lock.js';

test('whoever starts a second gateway is told of the first', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lock-'));
  const file = join(folder, 'lock');
  const lock = takeLock(file);
  expect(() => takeLock(file)).toThrow(AlreadyRunning);
  expect(() => takeLock(file)).toThrow(`pid ${process.pid}`);
  lock.release();
  takeLock(file).release();
  rmSync(folder, { recursive: true });
});
