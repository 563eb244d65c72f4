import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * @typedef {object} Package
 * @property {string} name
 * @property {string} version
 * @property {string} path relative to the repository
 * @property {string | undefined} license
 * @property {string | undefined} integrity from the lock file
 */

/**
 * The packages that a program needs. Resolves each from the folder of its dependent upwards, like Node. Skips optional
 * packages that are not installed (they are for other platforms), and peers (a dependent lists them itself too).
 * @returns {Package[]} sorted by path
 */
export function findPackages(root, { workspaces, without }) {
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const found = new Map();
  const waiting = workspaces.map((name) => name);
  const seen = new Set(waiting);
  for (let dependent = waiting.pop(); dependent !== undefined; dependent = waiting.pop()) {
    const { dependencies = {}, optionalDependencies = {} } = manifestOf(root, dependent);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (name.startsWith('@gwk/') || without.includes(name)) continue;
      const path = find(root, dependent, name);
      if (path === null && name in optionalDependencies) continue;
      if (path === null) throw new Error(`${dependent} needs ${name}, which is not installed`);
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

function find(root, dependent, name) {
  for (let folder = dependent; ; folder = dirname(folder)) {
    const candidate = folder === '.' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (existsSync(join(root, candidate, 'package.json'))) return candidate;
    if (folder === '.') return null;
  }
}
