import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { listFamily } from './family.js';

/** Processor time of processes, from /proc: none where there is no such thing. */
const TICK_US = 10_000;

export type ProcessorTimes = Map<string, number>;

/**
 * Microseconds used so far by each named process and its descendants. Those that have ended count, once their parent
 * has taken note of it: what is counted never falls.
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

/** Seconds used so far by these processes and all that they have started. */
export function familySeconds(pids: readonly number[]): number {
  const times = processorTimes(Object.fromEntries(pids.map((pid) => [String(pid), pid])));
  return [...times.values()].reduce((sum, us) => sum + us / 1e6, 0);
}

/** Seconds used so far by these processes, without those that they have started. @throws Error where one has ended */
export function processorSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + readProcess(pid).own / 1e6, 0);
}

interface Process {
  pid: number;
  parent: number;
  /** Microseconds: its own, and those of its children that have ended. */
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
        return []; // ended meanwhile
      }
    });
}

function readProcess(pid: number): Process {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in brackets, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map((ticks) => Number(ticks) * TICK_US);
  return { pid, parent: Number(fields[1]), own: user! + system!, ofEnded: endedUser! + endedSystem! };
}
