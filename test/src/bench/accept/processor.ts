import { readdirSync, readFileSync } from 'node:fs';

/** Processor time of processes, from /proc: empty where there is no such thing. */
const TICK_US = 10_000;

export type ProcessorTimes = Map<string, number>;

/** Microseconds used so far by each named process and its descendants. */
export function processorTimes(roots: Record<string, number | undefined>): ProcessorTimes {
  const processes = readProcesses();
  const times: ProcessorTimes = new Map();
  for (const [name, root] of Object.entries(roots)) {
    if (root === undefined) continue;
    const used = familyOf(root, processes).map((pid) => processes.get(pid)?.used ?? 0);
    times.set(
      name,
      used.reduce((sum, one) => sum + one, 0),
    );
  }
  return times;
}

function familyOf(root: number, processes: Map<number, { parent: number }>): number[] {
  const family = new Set([root]);
  // A set grows while it is walked: children come after their parents.
  for (const pid of family) {
    for (const [child, { parent }] of processes) if (parent === pid) family.add(child);
  }
  return [...family];
}

function readProcesses(): Map<number, { parent: number; used: number }> {
  const found = new Map<number, { parent: number; used: number }>();
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return found;
  }
  for (const name of names.filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The name of the program, in brackets, may hold anything.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      // Times of children that have ended belong to their parent.
      const ticks = [11, 12, 13, 14].reduce((sum, place) => sum + Number(fields[place]), 0);
      found.set(Number(name), { parent: Number(fields[1]), used: ticks * TICK_US });
    } catch {
      continue; // ended meanwhile
    }
  }
  return found;
}
