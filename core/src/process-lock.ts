import { execFileSync } from 'node:child_process';
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * A lock between processes of one machine. A killed process loses it.
 *
 * Each holder creates the next numbered file (`lock.1`, `lock.2`) with link(2), which fails if the file exists. The
 * newest file names the holder, and stays until there is a newer one. A process with an outdated view creates a file
 * that is not the newest, notices that, and retries. A single file, removed and created again, would leave a moment
 * without a file, in which two processes could take the lock.
 */
export interface ProcessLock {
  /** The previous holder did not release the lock. Its child processes may still be running. */
  wasAbandoned: boolean;
  release: () => void;
}

/** A running process holds the lock. */
export class LockHeldError extends Error {
  override name = 'LockHeldError';
  constructor(readonly pid: number) {
    super(`the process ${pid} holds the lock`);
  }
}

const RELEASED = 'released';

/**
 * @param path prefix of the lock's files: a dot and a number follow
 * @throws LockHeldError
 */
export function acquireProcessLock(path: string): ProcessLock {
  const me = `${process.pid} ${readStartTime(process.pid)}`;
  for (;;) {
    const last = listNumbers(path).at(-1) ?? 0;
    const before = read(`${path}.${last}`);
    throwIfRunning(before);
    const file = `${path}.${last + 1}`;
    if (!createWhole(file, me)) continue;
    const numbers = listNumbers(path);
    if (numbers.at(-1) !== last + 1) {
      rmSync(file, { force: true });
      continue;
    }
    for (const number of numbers.slice(0, -1)) rmSync(`${path}.${number}`, { force: true });
    return {
      wasAbandoned: last > 0 && before !== RELEASED,
      release: () => {
        if (read(file) === me) replace(file, RELEASED);
      },
    };
  }
}

/** @returns the numbers of the existing files, oldest first */
function listNumbers(path: string): number[] {
  const start = `${basename(path)}.`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(start))
    .map((name) => name.slice(start.length))
    .filter((rest) => /^[1-9]\d*$/.test(rest))
    .map(Number)
    .sort((a, b) => a - b);
}

function throwIfRunning(holder: string | undefined): void {
  const [pid, started] = (holder ?? '').split(' ');
  if (pid && started && readStartTime(Number(pid)) === started) throw new LockHeldError(Number(pid));
}

/** Creates the file with its content in one step, so that every reader finds a holder in it. */
function createWhole(file: string, text: string): boolean {
  const written = temporaryPath(file);
  writeFileSync(written, text);
  try {
    linkSync(written, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(written, { force: true });
  }
}

function replace(file: string, text: string): void {
  const written = temporaryPath(file);
  writeFileSync(written, text);
  renameSync(written, file);
}

const temporaryPath = (file: string): string => join(dirname(file), `.${basename(file)}.${process.pid}`);

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** The kernel reuses a pid, but not together with the start time. @returns undefined without such a process */
function readStartTime(pid: number): string | undefined {
  return process.platform === 'linux' ? readProc(pid) : readPs(pid);
}

/** Start time in clock ticks since boot, and the id of the boot. */
function readProc(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The program name is in parentheses and may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return `${fields[19]}@${read('/proc/sys/kernel/random/boot_id')}`;
}

function readPs(pid: number): string | undefined {
  try {
    const text = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { env: { LC_ALL: 'C' } });
    const [, state, startedAt] = /^(\S+)\s+(\S.*)$/.exec(text.toString().trim()) ?? [];
    return state === undefined || state.startsWith('Z') ? undefined : startedAt!.replaceAll(' ', '_');
  } catch {
    return undefined;
  }
}
