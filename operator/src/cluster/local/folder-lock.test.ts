import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { FolderTaken, lockFolder } from './folder-lock.js';
import { readStartTime } from './processes.js';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

test('lets one operator lock a folder, and releases it', () => {
  const unlock = lockFolder(folder.path);
  expect(() => lockFolder(folder.path)).toThrow(FolderTaken);
  expect(() => lockFolder(folder.path)).toThrow(`another operator (pid ${process.pid}) uses ${folder.path}`);
  unlock();
  lockFolder(folder.path)();
});

test('distinguishes a process from an earlier one with the same pid', async () => {
  const startedAt = await readStartTime(process.pid);
  expect(startedAt).toMatch(/^\d+@/);
  expect(await readStartTime(process.pid)).toBe(startedAt);
  expect(await readStartTime(2 ** 22 + 1)).toBeNull();
});
