import { spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { buildAlone } from './build-lock.js';
import { ROOT } from './program.js';

const REQUIREMENTS = join(ROOT, 'test/interop/generators/requirements.txt');

/** The generated clients need Python 3.10. */
const OLDEST = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';

export const hasPython = spawnSync('python3', ['-c', OLDEST]).status === 0;

/** Runs a program to its end. @returns its output @throws Error with the output of a program that failed */
export function runTool(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: object } = {},
) {
  const env = { ...process.env, ...options.env };
  const done = spawnSync(command, args, { ...options, env, encoding: 'utf8', maxBuffer: 1e9 });
  const output = `${done.stdout}${done.stderr}`;
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${done.error ?? ''}\n${output}`);
  return output;
}

/** @returns the folder with the programs of a Python environment, which is built once into the cache of the user */
export async function preparePython(): Promise<string> {
  const hash = createHash('sha256')
    .update(readFileSync(REQUIREMENTS))
    .update(runTool('python3', ['--version']));
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(cache, 'gwk/python', hash.digest('hex').slice(0, 16));
  const complete = join(folder, 'complete');
  await buildAlone(`${folder}.lock`, () => {
    if (existsSync(complete)) return;
    rmSync(folder, { recursive: true, force: true });
    // Programs of an environment contain its path, so it cannot be renamed when it is complete.
    runTool('python3', ['-m', 'venv', folder]);
    runTool(join(folder, 'bin/pip'), [
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '-r',
      REQUIREMENTS,
    ]);
    const marker = `${complete}.${randomUUID()}`;
    writeFileSync(marker, '');
    renameSync(marker, complete);
  });
  return join(folder, 'bin');
}
