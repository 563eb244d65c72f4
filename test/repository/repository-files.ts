import { execFileSync } from 'node:child_process';
import { ROOT } from '../support/program.js';

const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
})
  .split('\0')
  .filter(Boolean);

/** Files of the repository and their folders. Empty folders that git has left behind are not among them. */
const paths = new Set(
  listed.flatMap((file) => file.split('/').map((_name, place, names) => names.slice(0, place + 1).join('/'))),
);

/** @param path from the root, also of a folder */
export const isInRepository = (path: string): boolean =>
  paths.has(path.replace(/^\.\//, '').replace(/\/$/, ''));
