import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { works } from './process.js';

/** Also what is installed is downloaded: it may be where this user cannot reach it. */
const DOWNLOAD = ['--download-only', '--reinstall', '--no-install-recommends'];

export interface Unpacking {
  /** False: the packages alone. */
  dependencies?: boolean;
  /** The names are of packages that hold nothing and depend on those of the version that the system offers. */
  versioned?: boolean;
}

/**
 * Fetches packages of Debian or Ubuntu, with what they depend on and the system lacks, and unpacks all of it into
 * `<folder>/root`. An ordinary user cannot install, but can do this: apt gets folders of its own for it.
 * @returns false where apt cannot
 */
export function unpackDebianPackages(names: string[], folder: string, how: Unpacking = {}): boolean {
  const [state, cache] = [join(folder, 'state'), join(folder, 'cache')];
  const archives = join(cache, 'archives');
  try {
    for (const each of [join(state, 'lists/partial'), join(archives, 'partial')])
      mkdirSync(each, { recursive: true });
  } catch {
    return false; // nobody may write there
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

function fetch(names: string[], how: Unpacking, { options, archives }: Apt): boolean {
  const apt = (...args: string[]) => works(['apt-get', ...options, '-q', '-y', ...args], archives);
  if (!apt('update')) return false;
  const wanted = how.versioned ? names.flatMap((name) => dependenciesOf(name, options)) : names;
  const verb = how.dependencies === false ? ['download'] : ['install', ...DOWNLOAD];
  return wanted.length > 0 && apt(...verb, ...wanted);
}

function unpack(archives: string, root: string): boolean {
  const files = readdirSync(archives).filter((file) => file.endsWith('.deb'));
  return files.every((file) => works(['dpkg', '-x', join(archives, file), root]));
}

function dependenciesOf(name: string, options: string[]): string[] {
  const { stdout } = spawnSync('apt-cache', [...options, 'depends', '--important', name], {
    encoding: 'utf8',
  });
  return [...(stdout ?? '').matchAll(/^ *\|?Depends: ([a-z0-9][a-z0-9+.-]*)$/gm)].map(([, found]) => found!);
}
