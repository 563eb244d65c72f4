import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../testing/folder.js';
import { lockFolder } from './folder-lock.js';
import { startTimeOf } from './processes.js';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

const lock = () => join(folder.path, 'lock');

test('a folder is held by one, and free again afterwards', async () => {
  const unlock = await lockFolder(folder.path);
  await expect(lockFolder(folder.path)).rejects.toThrow(`another operator (pid ${process.pid})`);
  expect(existsSync(lock())).toBe(true);
  await unlock();
  await (
    await lockFolder(folder.path)
  )();
  expect(readdirSync(folder.path)).toEqual([]);
});

test.each([
  ['of a process that has ended', JSON.stringify({ pid: 2 ** 22 + 1, startedAt: '1@x' })],
  ['of a stranger that has the pid by now', JSON.stringify({ pid: process.pid, startedAt: 'another time' })],
  ['that was never finished', ''],
])('a lock %s is taken over', async (_, text) => {
  writeFileSync(lock(), text);
  await (
    await lockFolder(folder.path)
  )();
  expect(readdirSync(folder.path)).toEqual([]);
});

test('of many that try at once one gets it', async () => {
  writeFileSync(lock(), JSON.stringify({ pid: 2 ** 22 + 1, startedAt: '1@x' }));
  const tries = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder.path)));
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test('a process is told from another that had its pid', async () => {
  const startedAt = await startTimeOf(process.pid);
  expect(startedAt).toMatch(/^\d+@/);
  expect(await startTimeOf(process.pid)).toBe(startedAt);
  expect(await startTimeOf(2 ** 22 + 1)).toBeNull();
});
