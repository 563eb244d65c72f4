import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/program.js';

/** The built files of the console, as `gwk api` serves them. */
const DIST = join(ROOT, 'console/dist');
const ASSETS = join(DIST, 'assets');
const MAX_BYTES = 250_000;

const scripts = readdirSync(ASSETS).filter((name) => name.endsWith('.js'));
const read = (name: string) => readFileSync(join(ASSETS, name), 'utf8');

/** The script and all that it imports before it runs, without what it loads later. */
function listImports(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  const imported = read(name).matchAll(/(?:\bfrom|\bimport)\s*"\.\/([^"]+\.js)"/g);
  for (const [, other] of imported) listImports(other!, found);
  return found;
}

const entry = /<script[^>]+src="\/console\/assets\/([^"]+)"/.exec(
  readFileSync(join(DIST, 'index.html'), 'utf8'),
)![1]!;

test('the scripts before the first page have at most 250 kB in gzip, with both languages', () => {
  const languages = scripts.filter((name) => /^(?:pt|en)-/.test(name));
  expect(languages).toHaveLength(2);
  const first = new Set([entry, ...languages].flatMap((name) => [...listImports(name)]));
  const bytes = [...first].reduce((sum, name) => sum + statSync(join(ASSETS, `${name}.gz`)).size, 0);
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThan(MAX_BYTES);
});

test('each page of the router is a file of its own, which the first load does not include', () => {
  const router = readFileSync(join(ROOT, 'console/src/app/router.tsx'), 'utf8');
  const pages = [...router.matchAll(/import\('[./\w-]*\/([\w-]+)'\)/g)].map(([, page]) => page!);
  const first = [...listImports(entry)];
  expect(pages.length).toBeGreaterThan(10);
  for (const page of pages) {
    const own = scripts.filter((name) => name.startsWith(`${page}-`));
    expect([page, own.length > 0, own.filter((name) => first.includes(name))]).toEqual([page, true, []]);
  }
});
