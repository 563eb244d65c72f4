import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commandSucceeds } from '@gwk/local/servers/process';

/** Installed packages are downloaded again, because this user may not reach the installed files. */
const DOWNLOAD = ['--download-only', '--reinstall', '--no-install-recommends'];

interface UnpackOptions {
  /** False: without dependencies. */
  dependencies?: boolean;
  /** True: the packages are empty and depend on the version that the system offers. */
  versioned?: boolean;
}

/**
 * Downloads Debian or Ubuntu packages with their missing dependencies, and unpacks them into `<folder>/root`. This
 * needs no root: apt uses its own folders for it.
 * @returns false if apt cannot
 */
export function unpackDebianPackages(names: string[], folder: string, how: UnpackOptions = {}): boolean {
  const [state, cache] = [join(folder, 'state'), join(folder, 'cache')];
  const archives = join(cache, 'archives');
  try {
    for (const each of [join(state, 'lists/partial'), join(archives, 'partial')])
      mkdirSync(each, { recursive: true });
  } catch {
    return false; // the folder is not writable
  }
  const settings = {
    'Dir::State': state,
    'Dir::Cache': cache,
    'Dir::State::status': '/var/lib/dpkg/status',
    'Debug::NoLocking': 'true',
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  try {
    return fetch(names, how, { options, archives }) && unpack(archives, join(folder, 'root'));
  } finally {
    for (const each of [state, cache]) rmSync(each, { recursive: true, force: true });
  }
}

interface Apt {
  options: string[];
  archives: string;
}

function fetch(names: string[], how: UnpackOptions, { options, archives }: Apt): boolean {
  const apt = (...args: string[]) => commandSucceeds(['apt-get', ...options, '-q', '-y', ...args], archives);
  if (!apt('update')) return false;
  const wanted = how.versioned ? names.flatMap((name) => listDependencies(name, options)) : names;
  const verb = how.dependencies === false ? ['download'] : ['install', ...DOWNLOAD];
  return wanted.length > 0 && apt(...verb, ...wanted);
}

function unpack(archives: string, root: string): boolean {
  const files = readdirSync(archives).filter((file) => file.endsWith('.deb'));
  return files.every((file) => commandSucceeds(['dpkg', '-x', join(archives, file), root]));
}

function listDependencies(name: string, options: string[]): string[] {
  const { stdout } = spawnSync('apt-cache', [...options, 'depends', '--important', name], {
    encoding: 'utf8',
  });
  return [...(stdout ?? '').matchAll(/^ *\|?Depends: ([a-z0-9][a-z0-9+.-]*)$/gm)].map(([, found]) => found!);
}
