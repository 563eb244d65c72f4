import { readFileSync } from 'node:fs';

/** Megabytes of a process. Linux only. */
export interface Memory {
  /** In memory, pages of files that others have in common included. */
  resident: number;
  /** The same, with each page divided by the number of processes that have it. */
  share: number;
  /** Pages that nobody else has. */
  own: number;
}

const KILOBYTES = 1024;
const TICKS_PER_SECOND = 100;

export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const field = (name: string): number => {
    const value = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
    if (value === undefined) throw new Error(`process ${pid} does not tell ${name}`);
    return Number(value) / KILOBYTES;
  };
  return {
    resident: field('Rss'),
    share: field('Pss'),
    own: field('Private_Clean') + field('Private_Dirty'),
  };
}

export function memoryOfAll(pids: readonly number[]): Memory {
  const all = pids.map(memoryOf);
  const sum = (pick: (memory: Memory) => number) => all.reduce((total, one) => total + pick(one), 0);
  return { resident: sum((m) => m.resident), share: sum((m) => m.share), own: sum((m) => m.own) };
}

/** Seconds of processor that these processes have used so far, without those that they started. */
export function processorSeconds(pids: readonly number[]): number {
  return pids.reduce((total, pid) => total + ticksOf(pid) / TICKS_PER_SECOND, 0);
}

function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in brackets, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
