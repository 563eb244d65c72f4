import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findReasonToSkip, readFormerFunctions } from './former-functions.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gwk-releases-'));
  git('init', '--quiet');
  commit({ 'CHANGELOG.md': '## Unreleased\n', 'api/src/fence.sql': 'SELECT 1;\n' });
});
afterEach(() => rmSync(root, { recursive: true }));

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: root });

function commit(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  git('add', '--all');
  git('commit', '--quiet', '--message', 'a change');
}

function release(version: string): void {
  commit({ 'CHANGELOG.md': `## Unreleased\n\n## ${version}\n` });
  git('tag', `v${version}`);
}

test('there are no former functions before the first release', () => {
  expect(readFormerFunctions(root)).toBeNull();
  expect(findReasonToSkip(root)).toBe('there is no release before this version');
});

test('the tier is skipped while only comments differ from the release', () => {
  release('0.1.0');
  commit({ 'api/src/fence.sql': '-- The fence.\nSELECT 1;\n' });
  expect(findReasonToSkip(root)).toBe('the SQL functions are those of the former release');
});

test('a function that differs from the release runs the tier with the function of the release', () => {
  release('0.1.0');
  commit({ 'api/src/fence.sql': 'SELECT 2;\n', 'api/src/new.sql': 'SELECT 3;\n' });
  expect(findReasonToSkip(root)).toBeNull();
  expect(readFormerFunctions(root)).toBe('SELECT 1;\n');
});

test('a tagged commit is compared with the release before it', () => {
  release('0.1.0');
  commit({ 'api/src/fence.sql': 'SELECT 2;\n' });
  release('0.2.0');
  expect(readFormerFunctions(root)).toBe('SELECT 1;\n');
});

test('a clone without the tags of its releases is refused', () => {
  release('0.1.0');
  git('tag', '--delete', 'v0.1.0');
  expect(() => findReasonToSkip(root)).toThrow('git fetch --tags');
});
