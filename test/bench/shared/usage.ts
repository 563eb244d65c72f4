import { readFileSync } from 'node:fs';
import { listFamily } from './family.js';

/** Memory of a process in megabytes. Linux only. */
export interface Memory {
  /** Resident memory, including shared pages of files. */
  resident: number;
  /** Proportional share (PSS): each page divided by the number of processes that map it. */
  share: number;
  /** Private pages. */
  own: number;
}

const KILOBYTES = 1024;

export function readMemory(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const field = (name: string): number => {
    const value = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
    if (value === undefined) throw new Error(`process ${pid} does not report ${name}`);
    return Number(value) / KILOBYTES;
  };
  return {
    resident: field('Rss'),
    share: field('Pss'),
    own: field('Private_Clean') + field('Private_Dirty'),
  };
}

export const readTotalMemory = (pids: readonly number[]): Memory => sumMemory(pids.map(readMemory));

/** Memory of these processes and their descendants. Exited ones count as 0. */
export function readFamilyMemory(pids: readonly number[]): Memory {
  const all = pids.flatMap((root) => listFamily(root));
  return sumMemory(
    all.flatMap((pid) => {
      try {
        return [readMemory(pid)];
      } catch {
        return [];
      }
    }),
  );
}

export function sumMemory(all: readonly Memory[]): Memory {
  const sum = (pick: (memory: Memory) => number) => all.reduce((total, one) => total + pick(one), 0);
  return { resident: sum((m) => m.resident), share: sum((m) => m.share), own: sum((m) => m.own) };
}
