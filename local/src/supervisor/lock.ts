import { LockHeldError, acquireProcessLock, type ProcessLock } from '@gwk/core/process-lock';

/** Another `make run` is running. */
export class AlreadyRunning extends Error {
  override name = 'AlreadyRunning';
  constructor(readonly pid: number) {
    super(`make run is already running (pid ${pid}). Stop it first, or use its gateway.`);
  }
}

/** @throws AlreadyRunning */
export function acquireLock(file: string): ProcessLock {
  try {
    return acquireProcessLock(file);
  } catch (error) {
    throw error instanceof LockHeldError ? new AlreadyRunning(error.pid) : error;
  }
}
