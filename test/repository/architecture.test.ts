import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ROOT } from '../support/program.js';

const PRISMA = join(ROOT, 'api/prisma');
const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
const inCode = (pattern: RegExp): string[] => [...page.matchAll(pattern)].map(([, name]) => name!);

/** Paths that start with a folder of the repository; others name keys, routes or folders inside a named one. */
const paths = inCode(/`((?:[\w.-]+\/)+[\w.-]*)`/g).filter((path) =>
  existsSync(join(ROOT, path.split('/')[0]!)),
);

test('docs/architecture.md names only files and folders that exist', () => {
  expect(paths.length).toBeGreaterThan(80);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('docs/architecture.md names only SQL functions that exist', () => {
  const files = readdirSync(join(ROOT, 'api/src'), { recursive: true, encoding: 'utf8' });
  const functions = files
    .filter((path) => path.endsWith('.sql'))
    .map((path) => `gwk_${basename(path, '.sql')}`);
  const named = inCode(/`(gwk_[a-z_]+)`/g);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => !functions.includes(name))).toEqual([]);
});

test('docs/architecture.md names every table', () => {
  const schema = readFileSync(join(PRISMA, 'schema.prisma'), 'utf8');
  const tables = [...schema.matchAll(/@@map\("(\w+)"\)/g)].map(([, table]) => table!);
  expect(tables.length).toBeGreaterThan(30);
  expect(tables.filter((table) => !page.includes(`\`${table}\``))).toEqual([]);
});
