import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

/** Creates a folder for one job, and its parent if a cleaner of temporary folders has deleted it. */
export async function createJobFolder(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  return mkdtemp(join(parent, 'job-'));
}
