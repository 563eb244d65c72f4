import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './folders.js';

/** Runs a program of an image in its root file system. */
export function runInImage(root: string, [command, ...args]: string[]): string {
  return run('unshare', ['--map-root-user', 'chroot', root, command!, ...args]);
}

const PROGRAMS = ['usr/bin', 'usr/lib', 'bin', 'lib'];
const STATUS = 'var/lib/dpkg/status.d';

/** Programs and libraries of a layer that belong to no package with a licence in it. Packages list files by checksum. */
export function listUnlicensed(root: string): string[] {
  const packages = new Map<string, string>();
  for (const file of readdirSync(join(root, STATUS)).filter((name) => name.endsWith('.md5sums'))) {
    const name = file.replace('.md5sums', '');
    if (!existsSync(join(root, 'usr/share/doc', name, 'copyright'))) continue;
    const sums = readFileSync(join(root, STATUS, file), 'utf8');
    for (const [, sum] of sums.matchAll(/^([0-9a-f]{32}) /gm)) packages.set(sum!, name);
  }
  return listFiles(root).filter((file) => !packages.has(hashFile(join(root, file))));
}

function listFiles(root: string): string[] {
  const isFolder = (folder: string) =>
    lstatSync(join(root, folder), { throwIfNoEntry: false })?.isDirectory();
  return PROGRAMS.filter(isFolder)
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((file) => lstatSync(join(root, file)).isFile());
}

const hashFile = (file: string): string => createHash('md5').update(readFileSync(file)).digest('hex');
