import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * Which process is which, across a restart of this program: a pid alone may belong to a stranger by now, so it
 * counts only together with the time at which the process started.
 */
export interface ProcessIdentity {
  pid: number;
  startedAt: string;
}

const run = promisify(execFile);
const hasProc = process.platform === 'linux';

/** Null: no such process, or one that has ended and was not waited for. */
export async function readStartTime(pid: number): Promise<string | null> {
  return hasProc ? fromProc(pid) : fromPs(pid);
}

export async function isAlive({ pid, startedAt }: ProcessIdentity): Promise<boolean> {
  return (await readStartTime(pid)) === startedAt;
}

/**
 * The process whose first argument is this name: for a start that was cut off before its pid was written down.
 * Engines are given the name of their pod there, and the names of pods are used once.
 */
export async function findProcessByName(name: string): Promise<ProcessIdentity | null> {
  for (const pid of hasProc ? await pidsFromProc(name) : await pidsFromPs(name)) {
    const startedAt = await readStartTime(pid);
    if (startedAt !== null) return { pid, startedAt };
  }
  return null;
}

/** Ticks since the machine started, and which start of the machine that was. */
async function fromProc(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands in parentheses and may hold anything.
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
    const [, state, startedAt] = /^\s*(\S+)\s+(.+?)\s*$/.exec(stdout) ?? [];
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
    return null; // ended meanwhile, or not ours to read
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
