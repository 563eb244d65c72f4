import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { listFamily } from './family.js';

/** CPU time of processes from /proc; 0 on systems without it. */
const TICK_US = 10_000;

export type ProcessorTimes = Map<string, number>;

/**
 * Microseconds used so far by each named process and its descendants. Exited descendants count once their parent has
 * reaped them, so the values never fall.
 */
export function processorTimes(roots: Record<string, number | undefined>): ProcessorTimes {
  const all = readProcesses();
  const used = new Map(all.map(({ pid, own, ofEnded }) => [pid, own + ofEnded]));
  const times: ProcessorTimes = new Map();
  for (const [name, root] of Object.entries(roots)) {
    if (root === undefined) continue;
    times.set(
      name,
      listFamily(root, all).reduce((sum, pid) => sum + (used.get(pid) ?? 0), 0),
    );
  }
  return times;
}

/** Seconds used so far by these processes and their descendants. */
export function familySeconds(pids: readonly number[]): number {
  const times = processorTimes(Object.fromEntries(pids.map((pid) => [String(pid), pid])));
  return [...times.values()].reduce((sum, us) => sum + us / 1e6, 0);
}

/**
 * Seconds used so far by these processes without their descendants.
 * @throws Error if one has exited
 */
export function processorSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + readProcess(pid).own / 1e6, 0);
}

interface Process {
  pid: number;
  parent: number;
  /** Microseconds of the process and its exited children. */
  own: number;
  ofEnded: number;
}

function readProcesses(): Process[] {
  if (!existsSync('/proc/self/stat')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [readProcess(Number(name))];
      } catch {
        return []; // exited
      }
    });
}

function readProcess(pid: number): Process {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The program name is in parentheses and may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map((ticks) => Number(ticks) * TICK_US);
  return { pid, parent: Number(fields[1]), own: user! + system!, ofEnded: endedUser! + endedSystem! };
}
