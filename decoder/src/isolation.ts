import { existsSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSeccompFilter } from './seccomp.js';

/**
 * How job processes are isolated. `landlock`: Landlock hides all files but the own folder and the programs. On x64 and arm64
 * a seccomp filter also refuses sockets and other processes.
 */
export type IsolationKind = 'landlock' | 'none';

export interface Isolation {
  kind: IsolationKind;
  /** User and group of the jobs. Null: those of this process, which may not change them. */
  user: number | null;
  /** Command prefix that isolates a job in its folder. */
  prefix: (folder: string) => string[];
}

interface Host {
  isRoot: boolean;
  /** Folders and files that a job may read, and run programs from. */
  readable: readonly string[];
  /** Filter of system calls. Null: unknown for this architecture, and jobs may open sockets. */
  filter: Buffer | null;
}

/** Above all users of Debian's packages. The chart's decoder container has the same. */
const USER = 65_533;
const SWITCH_USER = [`--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'];
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OWN_FILES = ['package.json', 'node_modules', 'decoder', 'core'].map((name) => join(ROOT, name));
/** Debian chooses some libraries by links in /etc/alternatives. */
const SYSTEM_FILES = ['/usr', '/bin', '/lib', '/lib64', '/etc/alternatives', '/etc/ld.so.cache'];

/** Describes this machine. A job may not read the folder of ffmpeg, which may contain files of a user. */
export function describeHost(ffmpeg: string | null): Host {
  const filter = buildSeccompFilter(process.arch);
  const programs = [process.execPath, ...(ffmpeg === null ? [] : [realpathSync(ffmpeg), ffmpeg])];
  const found = [...SYSTEM_FILES, ...OWN_FILES, ...programs].filter((path) => existsSync(path));
  const readable = found.filter((path) => !found.some((other) => path.startsWith(`${other}/`)));
  return { isRoot: process.getuid?.() === 0, readable: [...new Set(readable)], filter };
}

export function buildIsolation(kind: IsolationKind, { isRoot, readable, filter }: Host): Isolation {
  if (kind === 'none') return { kind, user: null, prefix: () => [] };
  const prefix = (folder: string) => [
    ...['setpriv', '--no-new-privs', '--inh-caps=-all', ...(isRoot ? SWITCH_USER : [])],
    ...restrictFiles(readable, folder),
    ...(filter === null ? [] : ['--seccomp-filter', writeFilter(filter, folder)]),
    '--',
  ];
  return { kind, user: isRoot ? USER : null, prefix };
}

/** Each job has its own copy, which no cleaner of temporary files deletes before the job starts. */
function writeFilter(filter: Buffer, folder: string): string {
  const file = join(folder, 'seccomp-filter');
  // Nobody but root may write over the file of an interrupted run.
  rmSync(file, { force: true });
  writeFileSync(file, filter, { mode: 0o444 });
  return file;
}

function restrictFiles(readable: readonly string[], folder: string): string[] {
  const allow = (accesses: string, path: string) => ['--landlock-rule', `path-beneath:${accesses}:${path}`];
  const list = (path: string) => (statSync(path).isDirectory() ? ',read-dir' : '');
  return [
    ...['--landlock-access', 'fs'],
    ...readable.flatMap((path) => allow(`execute,read-file${list(path)}`, path)),
    ...allow('read-file,write-file', '/dev/null'),
    ...allow('read-file,write-file,read-dir,make-reg,remove-file,truncate', folder),
  ];
}
