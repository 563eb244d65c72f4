import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ROOT } from '../support/program.js';
import { isInRepository } from './repository-files.js';

const PRISMA = join(ROOT, 'api/prisma');
const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
const inCode = (pattern: RegExp): string[] => [...page.matchAll(pattern)].map(([, name]) => name!);

/** Paths that start with a folder of the repository; others name keys, routes or folders inside a named one. */
const paths = inCode(/`((?:[\w.-]+\/)+[\w.-]*)`/g).filter((path) => isInRepository(path.split('/')[0]!));

test('docs/architecture.md names only files and folders that exist', () => {
  expect(paths.length).toBeGreaterThan(80);
  expect(paths.filter((path) => !isInRepository(path))).toEqual([]);
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

/** The first file of each step, table by table. */
const tables = page
  .split(/\n(?=\| Step )/)
  .slice(1)
  .map((part) =>
    part
      .slice(0, part.indexOf('\n\n'))
      .split('\n')
      .flatMap((row) => /`([\w./-]+\.ts)`/.exec(row)?.[1] ?? []),
  );

/** Files that `file` imports at run time, not only as types. */
const importsOf = (file: string): string[] =>
  [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)';/gm)]
    .map(([, name]) =>
      name!.startsWith('.')
        ? join(dirname(file), name!).replace(/\.js$/, '.ts')
        : name!.replace(/^@gwk\/([\w-]+)\/(.*)$/, '$1/src/$2.ts'),
    )
    .filter((path) => existsSync(join(ROOT, path)));

function reach(file: string, found = new Set<string>()): Set<string> {
  for (const next of importsOf(file)) {
    if (found.has(next)) continue;
    found.add(next);
    reach(next, found);
  }
  return found;
}

const RECEIVE = 'engine-pod/src/driver/baileys/receive';
/** Later steps that reach an earlier one only through a helper function or an error class in its file. */
const HELPERS = [
  `${RECEIVE}/inbox.ts -> ${RECEIVE}/queue/ordered-intake.ts`,
  `${RECEIVE}/inbox.ts -> ${RECEIVE}/decrypt/read-ahead.ts`,
  'engine-pod/src/commands/connection-commands.ts -> engine-pod/src/redis/command-reader.ts',
];

test.each(tables.map((steps) => [steps[0]!, steps] as const))(
  'docs/architecture.md: steps from %s are in the order of their imports',
  (_first, steps) => {
    expect(steps.length).toBeGreaterThan(5);
    // A file that has two steps is before and after those between.
    const once = steps.filter((step) => steps.indexOf(step) === steps.lastIndexOf(step));
    const reached = new Map(once.map((step) => [step, reach(step)]));
    const backwards = once.flatMap((later, place) =>
      once
        .slice(0, place)
        .filter((earlier) => reached.get(later)!.has(earlier) && !reached.get(earlier)!.has(later))
        .map((earlier) => `${later} -> ${earlier}`),
    );
    expect(backwards.filter((pair) => !HELPERS.includes(pair))).toEqual([]);
  },
);

test('docs/architecture.md has a table for each path', () => expect(tables).toHaveLength(5));

test('docs/architecture.md names every field of Services, with the file that adds it', () => {
  const files = readdirSync(join(ROOT, 'api/src'), { recursive: true, encoding: 'utf8' });
  const fields = files
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .flatMap((path) => {
      const [, body] =
        /^ *(?:export )?interface Services \{\n(.*?)^ *\}/ms.exec(
          readFileSync(join(ROOT, 'api/src', path), 'utf8'),
        ) ?? [];
      return [...(body ?? '').matchAll(/^ *(\w+): /gm)].map(([, name]) => ({ name: name!, path }));
    });
  expect(fields.length).toBeGreaterThan(20);
  const missing = fields.filter(({ name, path }) => {
    const row = new RegExp(`^\\|[^|\n]*\`${name}\`[^|\n]*\\|(.*)\\|$`, 'm').exec(page)?.[1];
    return row === undefined || (path !== 'http/services.ts' && !row.includes(`\`api/src/${path}\``));
  });
  expect(missing).toEqual([]);
});
