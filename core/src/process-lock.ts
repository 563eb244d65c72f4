import { execFileSync } from 'node:child_process';
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Held by one process of this machine at a time; one that is killed holds it no longer.
 *
 * Each holder makes the next of numbered files (`lock.1`, `lock.2`), by a link, which fails where somebody else has
 * made it. The newest file says who holds the lock, and is removed only once there is a newer one: so whoever looks
 * always finds it, and whoever looked long ago makes a file that is not the newest, sees that, and looks again. With
 * one file that is taken away and made anew there is a moment without any, in which two can take it.
 */
export interface ProcessLock {
  /** The holder before did not release it: what it started may still be ending. */
  wasAbandoned: boolean;
  release: () => void;
}

/** A process that runs holds it. */
export class LockHeldError extends Error {
  override name = 'LockHeldError';
  constructor(readonly pid: number) {
    super(`the process ${pid} holds the lock`);
  }
}

const RELEASED = 'released';

/**
 * @param path of the lock; its files have this name, a dot and a number
 * @throws LockHeldError
 */
export function acquireProcessLock(path: string): ProcessLock {
  const me = `${process.pid} ${startOf(process.pid)}`;
  for (;;) {
    const last = numbersOf(path).at(-1) ?? 0;
    const before = read(`${path}.${last}`);
    refuseLiving(before);
    const file = `${path}.${last + 1}`;
    if (!made(file, me)) continue;
    const numbers = numbersOf(path);
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

/** From the oldest to the newest. */
function numbersOf(path: string): number[] {
  const start = `${basename(path)}.`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(start))
    .map((name) => name.slice(start.length))
    .filter((rest) => /^[1-9]\d*$/.test(rest))
    .map(Number)
    .sort((a, b) => a - b);
}

function refuseLiving(holder: string | undefined): void {
  const [pid, started] = (holder ?? '').split(' ');
  if (pid && started && startOf(Number(pid)) === started) throw new LockHeldError(Number(pid));
}

/** Whole from the start: who finds it can read whose it is. */
function made(file: string, text: string): boolean {
  const written = aside(file);
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
  const written = aside(file);
  writeFileSync(written, text);
  renameSync(written, file);
}

const aside = (file: string): string => join(dirname(file), `.${basename(file)}.${process.pid}`);

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** A number is given to another process one day; together with its start it is not. Undefined: there is none. */
function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
}

/** Ticks since the machine started, and which start of the machine that was. */
function fromProc(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name of the program stands in parentheses and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return `${fields[19]}@${read('/proc/sys/kernel/random/boot_id')}`;
}

function fromPs(pid: number): string | undefined {
  try {
    const text = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { env: { LC_ALL: 'C' } });
    const [, state, startedAt] = /^\s*(\S+)\s+(.+?)\s*$/.exec(text.toString()) ?? [];
    return state === undefined || state.startsWith('Z') ? undefined : startedAt!.replaceAll(' ', '_');
  } catch {
    return undefined;
  }
}
