import { readFileSync } from 'node:fs';
import { listFamily } from './family.js';

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

export function readMemory(pid: number): Memory {
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

export const readTotalMemory = (pids: readonly number[]): Memory => sumMemory(pids.map(readMemory));

/** Of these processes and all that they have started; what ends meanwhile has none any more. */
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
