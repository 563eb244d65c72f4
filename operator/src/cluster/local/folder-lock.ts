import { LockHeldError, acquireProcessLock } from '@gwk/core/process-lock';
import { join } from 'node:path';

/** Another operator uses the folder. Two operators would start two engines per instance. */
export class FolderTaken extends Error {
  override name = 'FolderTaken';
  constructor(folder: string, pid: number) {
    super(`another operator (pid ${pid}) uses ${folder}; stop it first, or give this one its own folder`);
  }
}

/**
 * @returns a function that releases the lock
 * @throws FolderTaken
 */
export function lockFolder(stateFolder: string): () => void {
  try {
    return acquireProcessLock(join(stateFolder, 'lock')).release;
  } catch (error) {
    throw error instanceof LockHeldError ? new FolderTaken(stateFolder, error.pid) : error;
  }
}
