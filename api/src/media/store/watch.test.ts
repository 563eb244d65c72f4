import { createLogger } from '@gwk/core/log';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FolderStore } from './folder-store.js';
import { StoreWatch } from './watch.js';

let folder: string;
beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'gwk-watch-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const told: string[] = [];
const log = createLogger('watch', 'info', { write: (line: string) => void told.push(line) });

test('a folder that cannot be written to is told, once, and so is that it can be again', async () => {
  const place = join(folder, 'volume');
  // A file where a folder should be: as unwritable for root as for anybody.
  await writeFile(place, '');
  const watch = new StoreWatch(new FolderStore(place), log, 0);
  expect(await watch.writable()).toBe(false);
  await until(async () => !(await watch.writable()));
  expect(told.filter((line) => line.includes('cannot be written to'))).toHaveLength(1);
  await rm(place);
  await until(() => watch.writable());
  expect(told.filter((line) => line.includes('can be written to again'))).toHaveLength(1);
  expect(await readdir(place)).toEqual([]);
});

test('a store that hangs holds nobody up who has asked before', async () => {
  let hangs = false;
  let answer = (): void => undefined;
  const check = () => (hangs ? new Promise<void>((resolve) => (answer = resolve)) : Promise.resolve());
  const watch = new StoreWatch({ check }, log, 0);
  expect(await watch.writable()).toBe(true);
  hangs = true;
  // The probe never ends, so a caller that waited for it would hang.
  for (let asked = 0; asked < 100; asked++) expect(await watch.writable()).toBe(true);
  answer();
});

/** Each look begins the next: with a fresh time of 0 nothing but looks has to come to pass. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
