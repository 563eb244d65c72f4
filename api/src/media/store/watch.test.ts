import { createLogger } from '@gwk/core/process/log';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FolderStore } from './folder-store.js';
import { StoreWatch } from './watch.js';

let folder: string;
beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'gwk-watch-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const lines: string[] = [];
const log = createLogger('watch', 'info', { write: (line: string) => void lines.push(line) });

test('logs once that the folder is not writable, and once that it is again', async () => {
  const place = join(folder, 'volume');
  // A file in place of the folder is not writable, even for root.
  await writeFile(place, '');
  const watch = new StoreWatch(new FolderStore(place), log, 0);
  expect(await watch.writable()).toBe(false);
  await until(async () => !(await watch.writable()));
  expect(lines.filter((line) => line.includes('not writable'))).toHaveLength(1);
  await rm(place);
  await until(() => watch.writable());
  expect(lines.filter((line) => line.includes('writable again'))).toHaveLength(1);
  expect(await readdir(place)).toEqual([]);
});

test('a hanging store does not delay callers after the first check', async () => {
  let hangs = false;
  let answer = (): void => undefined;
  const check = () => (hangs ? new Promise<void>((resolve) => (answer = resolve)) : Promise.resolve());
  const watch = new StoreWatch({ check }, log, 0);
  expect(await watch.writable()).toBe(true);
  hangs = true;
  // The check never ends, so a caller that waited for it would hang.
  for (let asked = 0; asked < 100; asked++) expect(await watch.writable()).toBe(true);
  answer();
});

/** With a fresh time of 0, every call starts a new check. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
