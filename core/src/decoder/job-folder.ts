import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Permissions of the parent of the folders of jobs. `decoder`: jobs of another user reach theirs, and cannot list the
 * others.
 */
export const PARENT_MODE = { worker: 0o700, decoder: 0o711 } as const;

/**
 * Creates the folder of a job.
 * @param parent created again if a cleaner of temporary folders has deleted it
 */
export async function makeJobFolder(parent: string, owner: keyof typeof PARENT_MODE): Promise<string> {
  const isNew = (await mkdir(parent, { recursive: true, mode: 0o700 })) !== undefined;
  if (isNew) await chmod(parent, PARENT_MODE[owner]);
  return mkdtemp(join(parent, 'job-'));
}
