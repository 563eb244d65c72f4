// Checks the workflows with actionlint. Without Go it checks nothing and says so; with CI=true that is an error.
import { spawnSync } from 'node:child_process';
import { findActionlint, ROOT } from './tools.ts';

const program = await findActionlint();
if (program === null) {
  process.stderr.write(
    'workflows: not checked, because Go is not installed (actionlint is built from its Go module)\n',
  );
  process.exitCode = process.env['CI'] === 'true' ? 1 : 0;
} else {
  // shellcheck is not among the programs of the tests: the same result with and without it.
  const done = spawnSync(program, ['-shellcheck=', '-pyflakes='], { cwd: ROOT, stdio: 'inherit' });
  process.exitCode = done.status ?? 1;
}
