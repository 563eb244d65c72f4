import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/program.js';

const HEADING = '\n## Attacks, bounds and tests\n';

/** The rows of the tables of docs/security.md that list attacks. */
function readRows(): string[][] {
  const page = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
  const [, section = ''] = page.split(HEADING);
  const lines = section.split('\n## ')[0]!.split('\n');
  const rows = lines.filter((line) => line.startsWith('| ') && !/^\| (Attack |---)/.test(line));
  return rows.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const rows = readRows();

test('docs/security.md lists attacks', () => {
  expect(rows.length).toBeGreaterThan(5);
});

test.each(rows)('%s: has a bound and an existing test', (attack, bound, tests) => {
  expect(attack).not.toBe('');
  expect(bound).not.toBe('');
  const files = [...tests.matchAll(/`([^`]+)`/g)].map(([, file]) => file!);
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => !/\.test\.ts$/.test(file) || !existsSync(join(ROOT, file)))).toEqual([]);
});
