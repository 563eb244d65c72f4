import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { works } from '../servers/process.js';

/** Another one runs. */
export class AlreadyRunning extends Error {
  override name = 'AlreadyRunning';
  constructor(readonly pid: number) {
    super(`make run is running already (pid ${pid}). Stop it first, or use the gateway that it started.`);
  }
}

export interface Lock {
  /** The one before did not end by itself: what it started may still be ending. */
  wasAbandoned: boolean;
  release(): void;
}

/** @throws AlreadyRunning */
export function takeLock(file: string): Lock {
  const mine = `${process.pid} ${startOf(process.pid)}`;
  const written = `${file}.${process.pid}`;
  writeFileSync(written, mine);
  try {
    const wasAbandoned = claim(file, written);
    return { wasAbandoned, release: () => (read(file) === mine ? rmSync(file) : undefined) };
  } finally {
    rmSync(written, { force: true });
  }
}

function claim(file: string, written: string): boolean {
  if (linked(written, file)) return false;
  const holder = read(file);
  const [pid, started] = (holder ?? '').split(' ');
  if (pid && startOf(Number(pid)) === started) throw new AlreadyRunning(Number(pid));
  removeAbandoned(file, holder);
  if (!linked(written, file)) throw new AlreadyRunning(Number(read(file)?.split(' ')[0]));
  return true;
}

/** Of several that find it abandoned at once, a later one must not remove the lock that an earlier one has taken. */
function removeAbandoned(file: string, holder: string | undefined): void {
  const aside = `${file}.${process.pid}.aside`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (read(aside) !== holder) linked(aside, file);
  rmSync(aside, { force: true });
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** A number is given to another process one day; together with its start it is not. Undefined: there is none. */
function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return works(['kill', '-0', String(pid)]) ? 'unknown' : undefined;
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? undefined : fields[19];
}
