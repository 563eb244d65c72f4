import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createJobFolder } from './job-folder.js';

test('creates the folder after its parent was deleted', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'gwk-jobs-'));
  await rm(parent, { recursive: true });
  const folder = await createJobFolder(parent);
  expect((await stat(folder)).isDirectory()).toBe(true);
  expect((await stat(parent)).mode & 0o077).toBe(0);
  await rm(parent, { recursive: true });
});
