import { opendirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';

/** A job has its input, its result, pictures of a film and temporary files of libvips. */
const MAX_FILES = 64;
const MAX_BYTES = 6 * MAX_MEDIA_BYTES;
const BLOCK = 512;
const KB = 1024;

/**
 * Returns the limit that a running job exceeds. Null: none. A job that a file has taken over could fill the disk that the
 * jobs of a worker share, also by files that it has deleted and keeps open.
 */
export function findExcess(pid: number | undefined, folder: string, memoryMb: number): string | null {
  const processes = listProcesses(pid);
  const memory = processes.reduce((sum, id) => sum + residentKb(id), 0);
  if (memory > memoryMb * KB) return 'decoding the file takes too much memory';
  const usage = { files: 0, bytes: 0 };
  addFolder(folder, usage);
  for (const id of processes) if (!isOver(usage)) addDeletedFiles(id, usage);
  return isOver(usage) ? 'decoding the file takes too much disk space' : null;
}

interface Usage {
  files: number;
  bytes: number;
}

const isOver = ({ files, bytes }: Usage): boolean => files > MAX_FILES || bytes > MAX_BYTES;

/** Reads at most one entry more than the limit. */
function addFolder(folder: string, usage: Usage): void {
  ignoreErrors(() => {
    using entries = opendirSync(folder);
    for (let entry = entries.readSync(); entry !== null && !isOver(usage); entry = entries.readSync()) {
      const path = join(folder, entry.name);
      usage.files++;
      if (entry.isDirectory()) addFolder(path, usage);
      else ignoreErrors(() => (usage.bytes += statSync(path).blocks * BLOCK));
    }
  });
}

function addDeletedFiles(pid: number, usage: Usage): void {
  ignoreErrors(() => {
    for (const fd of readdirSync(`/proc/${pid}/fd`)) {
      if (isOver(usage)) return;
      ignoreErrors(() => {
        const file = statSync(`/proc/${pid}/fd/${fd}`);
        if (!file.isFile() || file.nlink > 0) return;
        usage.files++;
        usage.bytes += file.blocks * BLOCK;
      });
    }
  });
}

/** The process and its child processes. Only this one if the system does not list them. */
function listProcesses(pid: number | undefined): number[] {
  if (pid === undefined) return [];
  const children = ignoreErrors(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')) ?? '';
  return [pid, ...children.split(' ').filter(Boolean).map(Number).flatMap(listProcesses)];
}

/** 0 if the system does not report it. */
function residentKb(pid: number): number {
  const status = ignoreErrors(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
}

/** Processes and files of a running job may end at any time. */
function ignoreErrors<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
