import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export function run(
  command: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) {
  const done = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26, ...options });
  if (done.error || done.status !== 0) {
    throw new Error(`${command} ${args.join(' ')}: ${done.error?.message ?? (done.stderr || done.stdout)}`);
  }
  return done.stdout;
}

/** Copies a file or folder. Symbolic links inside it stay as they are. */
export function copy(from: string, target: string): void {
  mkdirSync(dirname(target), { recursive: true });
  run('cp', ['-a', '-T', from, target]);
}

/** Copies everything in a folder. */
export function copyContents(from: string, target: string): void {
  mkdirSync(target, { recursive: true });
  run('cp', ['-a', `${from}/.`, target]);
}

/** Copies the shared libraries of a program, and their loader, to the paths that the loader uses. */
export function copyLibraries(program: string, root: string): void {
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' });
  for (const [, path] of stdout.matchAll(/(?:=>\s*)?(\/\S+)\s+\(0x/g)) {
    copy(realpathSync(path!), join(root, path!));
  }
}

/** Copies programs of this machine and their libraries. */
export function copyPrograms(programs: string[], folder: string, root: string): void {
  for (const program of programs) {
    const target = join(root, folder, basename(program));
    copy(realpathSync(program), target);
    chmodSync(target, 0o755);
    copyLibraries(program, root);
  }
}

export function makeUser(name: string, id: number, root: string, more = ''): void {
  mkdirSync(join(root, 'etc'), { recursive: true });
  writeFileSync(
    join(root, 'etc/passwd'),
    `root:x:0:0::/:/bin/sh\n${name}:x:${id}:${id}::/tmp:/bin/sh\n${more}`,
  );
  writeFileSync(join(root, 'etc/group'), `root:x:0:\n${name}:x:${id}:\n`);
  mkdirSync(join(root, 'tmp'), { recursive: true });
  chmodSync(join(root, 'tmp'), 0o1777);
}
