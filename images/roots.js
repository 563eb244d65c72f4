import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { findPackages } from './packages.js';
import { APP, COMMON_FILES, isNeeded, isNeededInWorkspace, NODE, USER } from './programs.js';

/** Root file systems of images. Each has two layers: `runtime`, shared by all programs, and `program`. */

const PASSWD = `root:x:0:0:root:/nonexistent:/sbin/nologin
nonroot:x:${USER}:${USER}:nonroot:/tmp:/sbin/nologin
`;
const GROUP = `root:x:0:
nonroot:x:${USER}:
`;

/** Node and its shared libraries. */
export function makeRuntime(target) {
  write(target, '/etc/passwd', PASSWD);
  write(target, '/etc/group', GROUP);
  write(target, '/etc/nsswitch.conf', 'hosts: files dns\n');
  mkdirSync(join(target, 'tmp'), { recursive: true });
  chmodSync(join(target, 'tmp'), 0o1777);
  const node = realpathSync(process.execPath);
  copy(node, join(target, NODE));
  // Debug symbols are one seventh of the file. Without binutils they stay.
  spawnSync('strip', [join(target, NODE)]);
  chmodSync(join(target, NODE), 0o755);
  for (const library of findLibraries(node)) copyLibrary(target, library);
}

/** The files that one program needs in addition to the runtime. */
export function makeProgram(root, image, target) {
  for (const file of [...COMMON_FILES, ...image.files]) copy(join(root, file), join(target, APP, file));
  writeEntry(root, target);
  for (const workspace of image.workspaces) {
    copyTree(join(root, workspace), join(target, APP, workspace), isNeededInWorkspace);
    link(target, `${APP}/node_modules/@gwk/${workspace}`, `../../${workspace}`);
  }
  const packages = findPackages(root, image);
  for (const { name, path } of packages) {
    copyTree(join(root, path), join(target, APP, path), (file) => isNeeded(name, file));
  }
  for (const program of image.hostPrograms) {
    copy(realpathSync(program), join(target, program));
    for (const library of findLibraries(program)) copyLibrary(target, library);
  }
  copyAddonLibraries(target);
  return packages;
}

/** The image has no /usr/bin/env, so the first line of gwk.js names Node directly. */
function writeEntry(root, target) {
  const source = readFileSync(join(root, 'bin/gwk.js'), 'utf8');
  write(target, `${APP}/bin/gwk.js`, source.replace(/^#!.*/, `#!${NODE}`));
  chmodSync(join(target, APP, 'bin/gwk.js'), 0o755);
  link(target, '/usr/bin/gwk', '../../app/bin/gwk.js');
}

/** Paths of the shared libraries and the loader, from ldd. */
function findLibraries(binary) {
  const done = spawnSync('ldd', [binary], { encoding: 'utf8' });
  if (done.status !== 0) return [];
  const found = done.stdout.matchAll(/(?:=>\s*)?(\/\S+)\s+\(0x/g);
  return [...found].map(([, path]) => path);
}

/** Copies to the path that the loader uses. Symbolic links become files and folders. */
function copyLibrary(target, path) {
  copy(realpathSync(path), join(target, path));
}

/** Copies the libraries of native addons. */
function copyAddonLibraries(target) {
  const addons = files(target).filter((file) => /\.(node|so(\.\d+)*)$/.test(file));
  for (const addon of addons) {
    const own = findLibraries(join(target, addon)).filter((path) => !path.startsWith(target));
    for (const path of own) copyLibrary(target, path);
  }
}

function copyTree(from, to, wanted) {
  for (const file of files(from)) {
    if (wanted(file)) copy(join(from, file), join(to, file));
  }
}

/** Sorted files of a folder, without its node_modules. */
function files(folder, prefix = '') {
  const entries = readdirSync(join(folder, prefix), { withFileTypes: true });
  return entries
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
      if (entry.isDirectory())
        return entry.name === 'node_modules' && prefix === '' ? [] : files(folder, path);
      return [path];
    });
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
  chmodSync(to, lstatSync(from).mode & 0o111 ? 0o755 : 0o644);
}

function write(target, path, text) {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  writeFileSync(join(target, path), text, { mode: 0o644 });
}

function link(target, path, to) {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  symlinkSync(to, join(target, path));
}
