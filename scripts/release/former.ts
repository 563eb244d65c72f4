import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from './tools.ts';

/** The tree of the former commit, built, for upgrades from it. */

const FORMER = 'HEAD~1';
const MIGRATIONS = 'api/prisma/migrations';
const BUILD_FILES = ['api', 'decoder', 'operator', 'engine-pod'].map((one) => `${one}/tsconfig.build.json`);

const git = (...args: string[]): string => run('git', args, { cwd: ROOT });
const works = (...args: string[]): boolean => {
  try {
    git(...args);
    return true;
  } catch {
    return false;
  }
};
const lines = (text: string): string[] => text.split('\0').filter(Boolean);

interface History {
  /** This folder is a clone. */
  clone: boolean;
  /** The clone contains the former commit. */
  former: boolean;
  /** Migrations of the former commit that have other contents now. */
  migrations: string[];
  /** A version has been released. */
  released: boolean;
  /** The former commit has other packages, and only those of this one are installed. */
  packages: boolean;
}

/** Why nothing can be upgraded from the former commit; null if it can. */
export function findObstacle({ clone, former, migrations, released, packages }: History): string | null {
  if (!clone) return 'this folder is not a clone of the repository';
  if (!former) return 'this clone is shallow and has no former commit (git fetch --deepen 1)';
  if (packages) return 'this commit changes package-lock.json, and the former packages are not installed';
  if (migrations.length === 0 || released) return null;
  return `before the first release, this commit changes migrations in place: ${migrations.join(', ')}`;
}

export function readHistory(): History {
  const clone = works('rev-parse', '--git-dir');
  const former = clone && works('rev-parse', '--verify', '--quiet', `${FORMER}^{commit}`);
  return {
    clone,
    former,
    packages: former && listChanged('--', 'package-lock.json').length > 0,
    migrations: former ? listChanged('--diff-filter=a', '--', MIGRATIONS) : [],
    released: clone && git('tag', '--list', 'v*') !== '',
  };
}

/** Files that differ between the former commit and this tree. */
const listChanged = (...args: string[]): string[] =>
  lines(git('diff', '--name-only', '--no-renames', '-z', FORMER, ...args));

/**
 * Calls `use` with the tree of the former commit. It is an overlay of this tree, so that only changed files are compiled
 * and nothing is installed. It needs root.
 * @returns why this machine cannot, without a call; null after the call
 */
export async function useFormer(work: string, use: (tree: string) => Promise<void>): Promise<string | null> {
  const folder = join(work, 'former');
  const [tree, upper, scratch] = ['tree', 'upper', 'scratch'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [tree, upper, scratch]) mkdirSync(path, { recursive: true });
  const layers = `lowerdir=${ROOT},upperdir=${upper},workdir=${scratch}`;
  try {
    run('mount', ['-t', 'overlay', 'overlay', '-o', layers, tree]);
  } catch (error) {
    return `this machine mounts no overlay of the tree: ${(error as Error).message.trim().split('\n').at(-1)!}`;
  }
  try {
    restoreFiles(tree);
    const tsc = ['node_modules/typescript7/bin/tsc', '-b', ...BUILD_FILES];
    for (const args of [tsc, ['sdk/typescript/build.js'], ['console/build.js']])
      run(process.execPath, args, { cwd: tree });
    await use(tree);
    return null;
  } finally {
    run('umount', ['-l', tree]);
    rmSync(folder, { recursive: true, force: true });
  }
}

function restoreFiles(tree: string): void {
  const added = listChanged('--diff-filter=A');
  const others = lines(git('ls-files', '--others', '--exclude-standard', '-z'));
  for (const path of [...added, ...others]) rmSync(join(tree, path), { force: true, recursive: true });
  // -m: with the time of the commit, a restored file would seem older than its output, and the compiler would skip it.
  const restored = listChanged().filter((path) => !added.includes(path));
  if (restored.length > 0)
    run('sh', ['-ec', 'git archive "$0" -- "$@" | tar -x -m -C "$TREE"', FORMER, ...restored], {
      cwd: ROOT,
      env: { ...process.env, TREE: tree },
    });
  if (restored.includes('api/prisma/schema.prisma'))
    run('npm', ['run', '--silent', 'prisma:generate'], { cwd: tree });
}
