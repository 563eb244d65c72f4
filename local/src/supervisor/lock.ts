import { LockHeldError, acquireProcessLock, type ProcessLock } from '@gwk/core/process-lock';

/** Another one runs. */
export class AlreadyRunning extends Error {
  override name = 'AlreadyRunning';
  constructor(readonly pid: number) {
    super(`make run is running already (pid ${pid}). Stop it first, or use the gateway that it started.`);
  }
}

/** @throws AlreadyRunning */
export function takeLock(file: string): ProcessLock {
  try {
    return acquireProcessLock(file);
  } catch (error) {
    throw error instanceof LockHeldError ? new AlreadyRunning(error.pid) : error;
  }
}
