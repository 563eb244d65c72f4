import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * @typedef {object} Package
 * @property {string} name
 * @property {string} version
 * @property {string} path from the root of the repository
 * @property {string | undefined} license
 * @property {string | undefined} integrity as the lock file has it
 */

/**
 * The packages that a program needs, as Node would find them: by going up from whoever asks. Optional ones that are
 * not there (of other machines) are left out; peers are left out, since whoever needs one names it as well.
 * @returns {Package[]} in order of their paths
 */
export function packagesOf(root, { workspaces, without }) {
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const found = new Map();
  const waiting = workspaces.map((name) => name);
  const seen = new Set(waiting);
  for (let asker = waiting.pop(); asker !== undefined; asker = waiting.pop()) {
    const { dependencies = {}, optionalDependencies = {} } = manifestOf(root, asker);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (name.startsWith('@gwk/') || without.includes(name)) continue;
      const path = find(root, asker, name);
      if (path === null && name in optionalDependencies) continue;
      if (path === null) throw new Error(`${asker} needs ${name}, which is not installed`);
      if (seen.has(path)) continue;
      seen.add(path);
      waiting.push(path);
      const { version, license } = manifestOf(root, path);
      found.set(path, { name, version, path, license, integrity: locked[path]?.integrity });
    }
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

const manifestOf = (root, path) => JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));

function find(root, asker, name) {
  for (let folder = asker; ; folder = dirname(folder)) {
    const candidate = folder === '.' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (existsSync(join(root, candidate, 'package.json'))) return candidate;
    if (folder === '.') return null;
  }
}
