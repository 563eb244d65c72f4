import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Names that begin with a dot are ours, or half-written: never read as manifests. */
export const STATE_FOLDER = '.state';

const HALF = /^\.[0-9a-f]{12}\.half$/;

interface WriteOptions {
  mode?: number;
  /** Off for what can be learned again: then a crash of the machine may leave the file empty. */
  durable?: boolean;
}

/** The file is the old one or the new one whatever is killed, and the new one once this resolves. */
export async function writeAtomically(path: string, text: string, options: WriteOptions = {}): Promise<void> {
  const { mode = 0o644, durable = true } = options;
  const half = join(dirname(path), `.${randomBytes(6).toString('hex')}.half`);
  try {
    const file = await open(half, 'wx', mode);
    try {
      await file.writeFile(text);
      if (durable) await file.sync();
    } finally {
      await file.close();
    }
    await rename(half, path);
  } catch (error) {
    await rm(half, { force: true }).catch(() => undefined);
    throw error;
  }
  if (durable) await syncFolder(dirname(path));
}

/** What writers that were killed left half-written. Only while no other writer is at work. */
export async function removeTemporaryFiles(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const halves = entries.filter(({ name }) => HALF.test(name));
  await Promise.all(halves.map(({ parentPath, name }) => rm(join(parentPath, name), { force: true })));
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncFolder(dirname(path));
}

/** A rename or a removal is durable when its folder is. */
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
