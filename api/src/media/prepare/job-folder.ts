import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder for one job. What cleans temporary folders may have taken away the one that it is made in. */
export async function jobFolder(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  return mkdtemp(join(parent, 'job-'));
}
