import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFunctions } from '@gwk/api/database/sql-functions';
import { ROOT } from '../program.js';

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

/**
 * The last release before the checked out commit. Null: there is none yet.
 * @throws if the changelog has a release, but the clone has no tag: such a clone would skip the tests without a word
 */
function findFormerRelease(root: string): string | null {
  if (git(root, 'tag', '--list', 'v[0-9]*') !== '') {
    return git(root, 'describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^');
  }
  if (/^## \[?\d/m.test(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')))
    throw new Error('this clone lacks the tags of the releases: run git fetch --tags --unshallow');
  return null;
}

/** The SQL functions of the former release as one script, from its tag. Null: there is no release yet. */
export function readFormerFunctions(root = ROOT): string | null {
  const release = findFormerRelease(root);
  if (release === null) return null;
  const folder = mkdtempSync(join(tmpdir(), 'gwk-former-'));
  try {
    const archive = execFileSync('git', ['archive', release, 'api/src'], { cwd: root, maxBuffer: 2 ** 28 });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    return joinFunctions(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Without comments, because they change nothing. */
const joinFunctions = (root: string): string =>
  readFunctions(join(root, 'api/src'))
    .map(({ sql }) => sql.replace(/^ *--.*\n/gm, ''))
    .join('\n');

/** Why the tier upgrade would prove nothing. Null: it must run. */
export function findReasonToSkip(root = ROOT): string | null {
  const former = readFormerFunctions(root);
  if (former === null) return 'there is no release before this version';
  return former === joinFunctions(root) ? 'the SQL functions are those of the former release' : null;
}
