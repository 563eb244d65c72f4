import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Process information from the operating system. */
export interface ProcessInfo {
  pid: number;
  parent: number;
  command: string;
}

export function listProcesses(): ProcessInfo[] {
  return existsSync('/proc/self/stat') ? fromProc() : fromPs();
}

function fromProc(): ProcessInfo[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        // The program name is in parentheses and may contain anything; the parent is the second field after it.
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (state === 'Z') return [];
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return [{ pid: Number(name), parent: Number(parent), command }];
      } catch {
        return []; // it has exited
      }
    });
}

function fromPs(): ProcessInfo[] {
  const { stdout } = spawnSync('ps', ['-axo', 'pid=,ppid=,command='], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line);
    return match ? [{ pid: Number(match[1]), parent: Number(match[2]), command: match[3]! }] : [];
  });
}

export function isRunning(pid: number): boolean {
  return listProcesses().some((process) => process.pid === pid);
}

/** Resident memory in bytes, without swapped pages. Linux only. */
export function residentMemory(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kilobytes === undefined) throw new Error(`process ${pid} has no resident memory`);
  return Number(kilobytes) * 1024;
}

/** Initial environment of a process. Linux only. */
export function readEnvironment(pid: number): Map<string, string> {
  const lines = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}
