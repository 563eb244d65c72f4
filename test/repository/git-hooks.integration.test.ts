import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/program.js';

let clone: string;
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'gwk-hooks-'));
  git('init', '--quiet');
  git('config', 'core.hooksPath', join(ROOT, '.githooks'));
});
afterEach(() => rmSync(clone, { recursive: true }));

const git = (...args: string[]) => execFileSync('git', args, { cwd: clone });

function commit(subject: string, text?: string): { ok: boolean; error: string } {
  if (text !== undefined) writeFileSync(join(clone, 'a.js'), text);
  git('add', '--all');
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  const done = spawnSync('git', [...author, 'commit', '--quiet', '--allow-empty', '-m', subject], {
    cwd: clone,
    encoding: 'utf8',
  });
  return { ok: done.status === 0, error: done.stderr };
}

test.each([
  ['an area and a summary', 'docs: add a file'],
  ['a part of an area', 'test(network): add a file'],
  ['72 characters', `docs: ${'a'.repeat(66)}`],
  ['a subject of Git', 'Revert "docs: add a file"'],
])('accepts %s', (_name, subject) => {
  expect(commit(subject)).toEqual({ ok: true, error: '' });
});

test.each([
  ['no area', 'Add a file', '"area: imperative summary"'],
  ['an unknown area', 'stuff: add a file', '"stuff" is no area'],
  ['73 characters', `docs: ${'a'.repeat(67)}`, 'has 73 characters'],
])('refuses a subject with %s', (_name, subject, error) => {
  expect(commit(subject)).toEqual({ ok: false, error: expect.stringContaining(error) });
});

test.each([
  ['accepts a staged file in the common format', 'export const a = 1;\n', true, ''],
  ['refuses a staged file that is not formatted', 'export const a  = 1\n', false, 'a.js'],
  ['refuses a staged file with a lint error', 'debugger;\n', false, 'no-debugger'],
])('%s', (_name, text, ok, error) => {
  writeFileSync(join(clone, '.oxlintrc.json'), '{ "rules": { "no-debugger": "error" } }\n');
  expect(commit('docs: add a file', text)).toEqual({ ok, error: expect.stringContaining(error) });
});
