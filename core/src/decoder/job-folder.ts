import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Creates the folder of a job. Jobs of another user reach theirs, and cannot list the others.
 * @param parent created again if a cleaner of temporary folders has deleted it
 */
export async function makeJobFolder(parent: string): Promise<string> {
  const isNew = (await mkdir(parent, { recursive: true })) !== undefined;
  if (isNew) await chmod(parent, 0o711);
  return mkdtemp(join(parent, 'job-'));
}
