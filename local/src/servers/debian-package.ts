import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { works } from './process.js';

/** Also what is installed is downloaded: it may be where this user cannot reach it. */
const DOWNLOAD = ['--download-only', '--reinstall', '--no-install-recommends'];

/**
 * Fetches packages of Debian or Ubuntu, with what they depend on and the system lacks, and unpacks all of it into
 * `<folder>/root`. An ordinary user cannot install, but can do this: apt gets folders of its own for it.
 * @returns false where apt cannot
 */
export function unpackDebianPackages(names: string[], folder: string, { dependencies = true } = {}): boolean {
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
  const fetch = dependencies ? ['install', ...DOWNLOAD, ...names] : ['download', ...names];
  if (!apt('update') || !apt(...fetch)) return false;
  for (const archive of readdirSync(archives).filter((file) => file.endsWith('.deb'))) {
    if (!works(['dpkg', '-x', join(archives, archive), join(folder, 'root')])) return false;
  }
  for (const each of [state, cache]) rmSync(each, { recursive: true, force: true });
  return true;
}
