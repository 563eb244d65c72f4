import { LockHeldError, acquireProcessLock } from '@gwk/core/process-lock';
import { join } from 'node:path';

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
 * @returns gives it back
 * @throws FolderTaken
 */
export function lockFolder(stateFolder: string): () => void {
  try {
    return acquireProcessLock(join(stateFolder, 'lock')).release;
  } catch (error) {
    throw error instanceof LockHeldError ? new FolderTaken(stateFolder, error.pid) : error;
  }
}
