import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const hasProc = process.platform === 'linux';

/**
 * Finds the process whose first argument is `name`. Engines get the name of their pod there. Pod names are never
 * reused, so the name identifies an engine across restarts of the operator and of the machine.
 */
export async function findProcess(name: string): Promise<number | null> {
  const [pid = null] = hasProc ? await pidsFromProc(name) : await pidsFromPs(name);
  return pid;
}

/** Whether the process with this pid still has this name. A zombie has none. */
export async function isAlive(pid: number, name: string): Promise<boolean> {
  return hasProc ? (await firstArgument(pid)) === name : (await pidsFromPs(name)).includes(pid);
}

async function pidsFromProc(name: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number);
  // Processes of others may be unreadable.
  const named = await Promise.all(pids.map((pid) => firstArgument(pid).catch(() => null)));
  return pids.filter((_, at) => named[at] === name);
}

/** Null: the process has exited. */
async function firstArgument(pid: number): Promise<string | null> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')[0]!;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}

async function pidsFromPs(name: string): Promise<number[]> {
  const { stdout } = await run('ps', ['-axo', 'pid=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, first] = /^\s*(\d+)\s+(\S+)/.exec(line) ?? [];
    return first === name ? [Number(pid)] : [];
  });
}
