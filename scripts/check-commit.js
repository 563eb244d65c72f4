// Checks of the Git hooks (.githooks): `files` checks format and lint of the staged files, `message FILE` the subject.
// It runs on the installed Node, because a hook has no other.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MAX_SUBJECT = 72;
/** Git writes these subjects itself, or rebase --autosquash removes them. */
const OF_GIT = /^(Merge |Revert "|fixup! |squash! |amend! )/;

/** Areas of commits: the list in CONTRIBUTING.md. */
const areas = () => {
  const [, list] = /^- Areas: ((?:`[^`]+`,? ?)+)/m.exec(readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8'));
  return [...list.matchAll(/`([^`]+)`/g)].map(([, area]) => area);
};

/** @returns why the subject is refused, or null */
function findFault(subject) {
  if (OF_GIT.test(subject)) return null;
  if (subject.length > MAX_SUBJECT)
    return `the subject has ${subject.length} characters, at most ${MAX_SUBJECT} are allowed`;
  const [, area] = /^([a-z]+)(?:\([^()]+\))?: \S/.exec(subject) ?? [];
  if (area === undefined) return 'the subject must be "area: imperative summary"';
  return areas().includes(area) ? null : `"${area}" is no area; areas: ${areas().join(', ')}`;
}

function checkMessage(file) {
  const fault = findFault(readFileSync(file, 'utf8').split('\n')[0]);
  if (fault !== null) process.stderr.write(`commit: ${fault} (CONTRIBUTING.md)\n`);
  return fault === null;
}

function checkFiles() {
  const args = ['diff', '--cached', '--name-only', '--diff-filter=ACMR', '-z'];
  const files = execFileSync('git', args, { encoding: 'utf8' }).split('\0').filter(Boolean);
  const format = ['prettier', '--check', '--ignore-unknown', '--log-level=warn'];
  return (
    run(format, files) &&
    run(
      ['oxlint', '--format=unix'],
      files.filter((file) => /\.[jt]sx?$/.test(file)),
    )
  );
}

function run([program, ...args], files) {
  const path = join(ROOT, 'node_modules/.bin', program);
  if (files.length === 0) return true;
  if (!existsSync(path)) {
    process.stderr.write(`commit: ${program} is not installed, so nothing was checked (make install)\n`);
    return true;
  }
  const done = spawnSync(path, [...args, ...files], { encoding: 'utf8' });
  if (done.status !== 0) process.stderr.write(`${done.stdout}${done.stderr}`);
  return done.status === 0;
}

const [task, file] = process.argv.slice(2);
process.exitCode = (task === 'message' ? checkMessage(file) : checkFiles()) ? 0 : 1;
