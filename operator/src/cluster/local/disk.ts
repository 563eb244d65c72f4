import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
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
    await writeFile(temporary, text, { flag: 'wx', mode, flush: true });
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

export async function ensureFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/**
 * Loads a folder with one JSON file for each object.
 *
 * @param advice follows the name of a corrupt file in the error message
 * @param parse throws if a file contains something else
 * @throws Error if a file is corrupt: an object must not silently disappear
 */
export async function loadJsonFolder<T>(
  folder: string,
  advice: string,
  parse: (object: T) => T = (object) => object,
): Promise<T[]> {
  await ensureFolder(folder);
  const names = (await readdir(folder)).filter((name) => /^[^.].*\.json$/.test(name));
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      try {
        return parse(JSON.parse(await readFile(path, 'utf8')) as T);
      } catch (error) {
        throw new Error(`${path} is corrupt. ${advice}`, { cause: error });
      }
    }),
  );
}

export function writeJson(path: string, object: object): Promise<void> {
  return writeAtomically(path, `${JSON.stringify(object, null, 2)}\n`, 0o600);
}
