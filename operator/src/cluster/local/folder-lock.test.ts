import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { FolderTaken, lockFolder } from './folder-lock.js';
import { readStartTime } from './processes.js';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

test('a folder is held by one operator, and free again afterwards', () => {
  const unlock = lockFolder(folder.path);
  expect(() => lockFolder(folder.path)).toThrow(FolderTaken);
  expect(() => lockFolder(folder.path)).toThrow(
    `another operator (pid ${process.pid}) works on ${folder.path}`,
  );
  unlock();
  lockFolder(folder.path)();
});

test('a process is told from another that had its pid', async () => {
  const startedAt = await readStartTime(process.pid);
  expect(startedAt).toMatch(/^\d+@/);
  expect(await readStartTime(process.pid)).toBe(startedAt);
  expect(await readStartTime(2 ** 22 + 1)).toBeNull();
});
