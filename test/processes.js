// Finds processes that a test run leaves behind: its descendants, and processes with its mark in their environment.
import { readdirSync, readFileSync } from 'node:fs';

const POLL_MS = 500;
const GRACE_MS = 5000;

/** @returns every process of the machine by pid. The start time separates processes that reuse a pid. */
function processes() {
  const all = new Map();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The command name is in parentheses and may contain anything.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      all.set(Number(name), {
        pid: Number(name),
        state: fields[0],
        parent: Number(fields[1]),
        started: fields[19],
      });
    } catch {
      // The process has exited.
    }
  }
  return all;
}

function descendsFrom(process, ancestor, all) {
  for (let at = process; at; at = all.get(at.parent)) if (at.parent === ancestor) return true;
  return false;
}

function carries(pid, mark) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark);
  } catch {
    return false;
  }
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().slice(0, 200);
  } catch {
    return '';
  }
}

/** Records the descendants of this process from now on. `mark` is a variable (NAME=value) that they inherit. */
export function watchProcesses(mark) {
  if (process.platform !== 'linux') return { leftBehind: async () => [] };
  const seen = new Map();
  const look = () => {
    const all = processes();
    for (const one of all.values()) {
      if (one.pid !== process.pid && descendsFrom(one, process.pid, all)) seen.set(one.pid, one.started);
    }
  };
  const timer = setInterval(look, POLL_MS);
  const alive = () =>
    [...processes().values()].filter(
      (one) =>
        one.state !== 'Z' &&
        one.pid !== process.pid &&
        (seen.get(one.pid) === one.started || carries(one.pid, mark)),
    );
  return {
    /** @returns the processes that still run after a grace period */
    async leftBehind() {
      clearInterval(timer);
      const end = Date.now() + GRACE_MS;
      while (alive().length > 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 100));
      return alive().map((one) => ({ pid: one.pid, command: commandOf(one.pid) }));
    },
  };
}
