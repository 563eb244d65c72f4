import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findMaxBytes } from '@gwk/api/internal-api/calls';
import { ENGINE_ROUTES } from '@gwk/core/protocol/engine';
import { OPERATOR_ROUTES } from '@gwk/core/protocol/operator';
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

describe('docs/security.md lists the bounds of', () => {
  const [, section = ''] = readFileSync(join(ROOT, 'docs/security.md'), 'utf8').split(
    '\n### Bounds of the internal API\n',
  );
  const bounds = [
    ...section.split('\n## ')[0]!.matchAll(/^\| `([^`]+)` +\| (\d+) (kB|MB) +\| (\S.*\S) +\|$/gm),
  ];
  const documented = Object.fromEntries(
    bounds.map(([, name, size, unit]) => [name, Number(size) * (unit === 'MB' ? 1024 * 1024 : 1024)]),
  );

  test.each([
    ['engines', '/engine', ENGINE_ROUTES],
    ['the operator', '/operator', OPERATOR_ROUTES],
  ])('each operation of %s, with its largest body', (_, prefix, routes) => {
    for (const route of Object.keys(routes))
      expect([route, documented[route]]).toEqual([route, findMaxBytes(`${prefix}/${route}`)]);
  });

  test('no other operation but the file transfers', () => {
    const routes = [
      ...Object.keys(ENGINE_ROUTES),
      ...Object.keys(OPERATOR_ROUTES),
      'media-download',
      'media-upload',
    ];
    expect(Object.keys(documented).toSorted()).toEqual(routes.toSorted());
  });
});
