import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, startTimeOf, type ProcessName } from './processes.js';

/** Another operator works on the folder: two would each start an engine for every instance. */
export class FolderTaken extends Error {
  override name = 'FolderTaken';
  constructor(folder: string, pid: number) {
    super(
      `another operator (pid ${pid}) works on ${folder}; stop it first, or give this one a folder of its own`,
    );
  }
}

/**
 * A file that names the process which holds the folder. It is made by linking, which fails where it exists; one of
 * a process that has ended is taken away, and looked at once more after that, in case two take it away at once.
 *
 * @throws FolderTaken
 */
export async function lockFolder(stateFolder: string): Promise<() => Promise<void>> {
  const path = join(stateFolder, 'lock');
  const mine = join(stateFolder, `.lock.${process.pid}`);
  const me: ProcessName = { pid: process.pid, startedAt: (await startTimeOf(process.pid)) ?? '' };
  await writeFile(mine, JSON.stringify(me));
  try {
    while (!(await linked(mine, path))) await removeStale(stateFolder, path);
  } finally {
    await rm(mine, { force: true });
  }
  return () => rm(path, { force: true });
}

async function linked(mine: string, path: string): Promise<boolean> {
  try {
    await link(mine, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function removeStale(folder: string, path: string): Promise<void> {
  await refuseLiving(folder, path);
  const aside = join(folder, `.lock.${process.pid}.stale`);
  try {
    await rename(path, aside);
    await refuseLiving(folder, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      await link(aside, path).catch(() => undefined);
      throw error;
    }
  } finally {
    await rm(aside, { force: true });
  }
}

async function refuseLiving(folder: string, path: string): Promise<void> {
  const holder = JSON.parse(
    (await readFile(path, 'utf8').catch(() => 'null')) || 'null',
  ) as ProcessName | null;
  if (holder && (await isAlive(holder))) throw new FolderTaken(folder, holder.pid);
}
