import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * Identifies a process across restarts of the operator. A pid may be reused, so the start time is part of the
 * identity.
 */
export interface ProcessIdentity {
  pid: number;
  startedAt: string;
}

const run = promisify(execFile);
const hasProc = process.platform === 'linux';

/** Null: no such process, or a zombie. */
export async function readStartTime(pid: number): Promise<string | null> {
  return hasProc ? fromProc(pid) : fromPs(pid);
}

export async function isAlive({ pid, startedAt }: ProcessIdentity): Promise<boolean> {
  return (await readStartTime(pid)) === startedAt;
}

/**
 * Finds the process whose first argument is `name`, for a start that was interrupted before its pid was written.
 * Engines get the name of their pod there, and pod names are never reused.
 */
export async function findProcessByName(name: string): Promise<ProcessIdentity | null> {
  for (const pid of hasProc ? await pidsFromProc(name) : await pidsFromPs(name)) {
    const startedAt = await readStartTime(pid);
    if (startedAt !== null) return { pid, startedAt };
  }
  return null;
}

/** Clock ticks since boot, with the id of the boot. */
async function fromProc(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The program name is in parentheses and may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return null;
    return `${fields[19]}@${await bootId()}`;
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

let boot: Promise<string> | undefined;

function bootId(): Promise<string> {
  boot ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8').then((id) => id.trim());
  return boot;
}

async function fromPs(pid: number): Promise<string | null> {
  try {
    const { stdout } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { env: { LC_ALL: 'C' } });
    const [, state, startedAt] = /^(\S+)\s+(\S.*)$/.exec(stdout.trim()) ?? [];
    return state === undefined || state.startsWith('Z') ? null : startedAt!;
  } catch (error) {
    if ((error as { code?: unknown }).code === 1) return null;
    throw error;
  }
}

async function pidsFromProc(name: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const named = await Promise.all(pids.map((pid) => firstArgument(pid)));
  return pids.filter((_, at) => named[at] === name);
}

async function firstArgument(pid: number): Promise<string | null> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')[0]!;
  } catch {
    return null; // exited meanwhile, or not readable
  }
}

async function pidsFromPs(name: string): Promise<number[]> {
  const { stdout } = await run('ps', ['-axo', 'pid=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, first] = /^\s*(\d+)\s+(\S+)/.exec(line) ?? [];
    return first === name ? [Number(pid)] : [];
  });
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ESRCH';
}
