import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../program.js';

/** Commands of the programs in a shell block, each with its arguments as the shell passes them. */
export type TypedCommand = [program: string, ...words: string[]];

/** Prints a line that `while read` loops and `xargs` can use. */
const RECORDER = `#!/bin/sh
{ printf '%s\\037' "$(basename "$0")" "$@"; printf '\\036'; } >>"$RECORD"
echo messages shop
`;

/**
 * Runs a block with recorders in place of its programs. A real shell reads the block, so quotes, loops and
 * continuation lines count.
 *
 * @throws Error if the shell cannot read the block
 */
export function recordCommands(block: string, programs: readonly string[]): TypedCommand[] {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-commands-'));
  try {
    const [bin, record] = [join(folder, 'bin'), join(folder, 'record')];
    mkdirSync(bin);
    writeFileSync(record, '');
    for (const program of [...programs, 'sleep'])
      writeFileSync(join(bin, program), RECORDER, { mode: 0o755 });
    // <placeholders> would be redirections.
    const typed = block.replace(/<[a-z][a-z ]*>/g, 'placeholder');
    const env = { PATH: `${bin}:/usr/bin:/bin`, RECORD: record, ...VARIABLES };
    const read = spawnSync('bash', ['--norc', '-n', '-c', typed], { encoding: 'utf8', env });
    if (read.status !== 0) throw new Error(`${block}\n${read.stderr}`);
    // Filters such as grep find nothing in what the recorders print, so the exit code means nothing.
    spawnSync('bash', ['--norc', '-c', typed], { cwd: folder, env, stdio: 'ignore' });
    return readFileSync(record, 'utf8')
      .split('\u001e')
      .slice(0, -1)
      .map((line) => line.split('\u001f').slice(0, -1) as TypedCommand)
      .filter(([program]) => programs.includes(program));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Variables that the pages expect from the reader. */
const VARIABLES = {
  DATABASE_URL: 'postgresql://gwk@localhost/gwk',
  ADMIN_URL: 'postgresql://admin@localhost/postgres',
  BEFORE_URL: 'postgresql://gwk@localhost/gwk_before',
  GWK_MEDIA_FOLDER: '.',
};

/** Flags that the help of a command names, such as `--namespace` and `-n`. */
export const readFlags = (help: string): Set<string> =>
  new Set([...help.matchAll(/(?<![\w-])(--[a-z][a-z0-9-]*|-[a-zA-Z](?![\w-]))/g)].map(([flag]) => flag));

/** Flags among the words of a command. */
export const listFlags = (words: readonly string[]): string[] =>
  words
    .slice(0, words.includes('--') ? words.indexOf('--') : undefined)
    .filter((word) => /^-{1,2}[a-zA-Z]/.test(word))
    .map((word) => word.replace(/=.*$/s, ''))
    .map((word) => (/^-[a-zA-Z]/.test(word) ? word.slice(0, 2) : word));

/** Runs a program of this repository or of the tests for its help. */
export function readHelp(command: string, args: readonly string[]): string {
  const done = spawnSync(command, [...args], { encoding: 'utf8', cwd: ROOT });
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${done.stderr || done.stdout}`);
  return done.stdout;
}
