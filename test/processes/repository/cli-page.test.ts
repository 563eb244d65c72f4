import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { baseEnvironment, ROOT } from '../../support/program.js';

test.each([
  ['cli.md', 'cli/dist/gwk.cjs', 8],
  ['server-cli.md', 'bin/gwk.js', 1],
])('docs/%s lists all commands as `gwk --help` prints them', (page, program, helps) => {
  const [, block] = /```text\n([^]*?)```\n/.exec(readFileSync(join(ROOT, 'docs', page), 'utf8'))!;
  const usages = [...block!.matchAll(/^Usage: gwk([^[\n]*)/gm)].map(([, words]) => words!.trim());
  expect(usages.length).toBe(helps);
  const printed = usages.map((words) =>
    execFileSync(
      process.execPath,
      [join(ROOT, program), ...words.split(' ').filter((word) => word !== ''), '--help'],
      { encoding: 'utf8', env: baseEnvironment() },
    ),
  );
  expect(block).toBe(printed.join('\n'));
});
