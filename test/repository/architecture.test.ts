import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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
  const folders = readdirSync(join(PRISMA, 'migrations'), { withFileTypes: true });
  const sql = folders
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => readFileSync(join(PRISMA, 'migrations', name, 'migration.sql'), 'utf8'))
    .join('\n');
  const named = inCode(/`(gwk_[a-z_]+)`/g);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => !sql.includes(`FUNCTION ${name}(`))).toEqual([]);
});

test('docs/architecture.md names every table', () => {
  const schema = readFileSync(join(PRISMA, 'schema.prisma'), 'utf8');
  const tables = [...schema.matchAll(/@@map\("(\w+)"\)/g)].map(([, table]) => table!);
  expect(tables.length).toBeGreaterThan(30);
  expect(tables.filter((table) => !page.includes(`\`${table}\``))).toEqual([]);
});
