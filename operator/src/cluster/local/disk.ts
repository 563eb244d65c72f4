import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Names with a leading dot belong to the operator and are never read as manifests. */
export const STATE_FOLDER = '.state';

const TEMPORARY = /^\.[0-9a-f]{12}\.tmp$/;

/**
 * Writes a temporary file and renames it. Readers see the old or the new file, and the new one is durable once this
 * resolves.
 */
export async function writeAtomically(path: string, text: string, mode = 0o644): Promise<void> {
  const temporary = join(dirname(path), `.${randomBytes(6).toString('hex')}.tmp`);
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Removes temporary files of killed writers. Call it only while nobody writes. */
export async function removeTemporaryFiles(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const temporary = entries.filter(({ name }) => TEMPORARY.test(name));
  await Promise.all(temporary.map(({ parentPath, name }) => rm(join(parentPath, name), { force: true })));
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncFolder(dirname(path));
}

/** A rename or removal is durable once its folder is synced. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export async function readIfExists(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

export async function ensureFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}
