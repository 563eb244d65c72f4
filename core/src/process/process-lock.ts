import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** A lock between processes of one machine. The kernel releases it when the process ends. */
export interface ProcessLock {
  /** The previous holder did not release the lock. Its child processes may still be running. */
  wasAbandoned: boolean;
  release: () => void;
}

/** A running process holds the lock. */
export class LockHeldError extends Error {
  override name = 'LockHeldError';
}

/** An unreferenced database would be closed by the garbage collector, and so unlocked. */
const held = new Set<DatabaseSync>();

/**
 * Locks a file through SQLite, because Node has no call for file locks. The holder's pid is in a file beside it.
 *
 * @param describeHolder returns the message of the error, by the holder's pid
 * @throws LockHeldError
 */
export function acquireProcessLock(
  path: string,
  describeHolder = (pid: number) => `the process ${pid} holds the lock`,
): ProcessLock {
  const pidFile = `${path}.pid`;
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    // Not EXCLUSIVE: that needs two locks one after the other, so that several processes at once may all fail.
    file.exec('BEGIN IMMEDIATE');
  } catch (error) {
    file.close();
    throw (error as { errcode?: number }).errcode === SQLITE_BUSY
      ? new LockHeldError(describeHolder(readPid(pidFile)))
      : error;
  }
  held.add(file);
  const wasAbandoned = existsSync(pidFile);
  writeFileSync(pidFile, String(process.pid));
  return {
    wasAbandoned,
    release: () => {
      if (!held.delete(file)) return;
      rmSync(pidFile, { force: true });
      file.close();
    },
  };
}

const SQLITE_BUSY = 5;

/** Not a number in the moment in which the holder has not written it yet. */
function readPid(file: string): number {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10);
  } catch {
    return Number.NaN;
  }
}
