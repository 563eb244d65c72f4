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
  const state = join(folder, 'state');
  const cache = join(folder, 'cache');
  const archives = join(cache, 'archives');
  for (const each of [join(state, 'lists/partial'), join(archives, 'partial')]) {
    mkdirSync(each, { recursive: true });
  }
  const settings = {
    'Dir::State': state,
    'Dir::Cache': cache,
    'Dir::State::status': '/var/lib/dpkg/status',
    'Debug::NoLocking': 'true',
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  const apt = (...args: string[]) => works(['apt-get', ...options, '-q', '-y', ...args], archives);
  if (!apt('update')) return false;
  const wanted = how.versioned ? names.flatMap((name) => dependenciesOf(name, options)) : names;
  const fetch = how.dependencies === false ? ['download'] : ['install', ...DOWNLOAD];
  if (wanted.length === 0 || !apt(...fetch, ...wanted)) return false;
  for (const archive of readdirSync(archives).filter((file) => file.endsWith('.deb'))) {
    if (!works(['dpkg', '-x', join(archives, archive), join(folder, 'root')])) return false;
  }
  for (const each of [state, cache]) rmSync(each, { recursive: true, force: true });
  return true;
}

function dependenciesOf(name: string, options: string[]): string[] {
  const { stdout } = spawnSync('apt-cache', [...options, 'depends', '--important', name], {
    encoding: 'utf8',
  });
  return [...(stdout ?? '').matchAll(/^ *\|?Depends: ([a-z0-9][a-z0-9+.-]*)$/gm)].map(([, found]) => found!);
}
