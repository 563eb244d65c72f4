import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/program.js';

/** Plain JavaScript without declarations. */
const LICENCES: string = './licences.js';

interface Locked {
  name: string;
  version: string;
  licence: string | null;
  tool: boolean;
}
interface Installed {
  name: string;
  license: string | undefined;
}
const { findFault, lockedPackages, misplaced, page } = (await import(LICENCES)) as {
  findFault: (one: Locked) => string | null;
  lockedPackages: (file: string) => Locked[];
  misplaced: (image: string, packages: Installed[]) => string[];
  page: (packages: Locked[]) => string;
};
const packages = lockedPackages(join(ROOT, 'package-lock.json'));

test('every package of the lock file has a permitted licence', () => {
  expect(packages.length).toBeGreaterThan(300);
  expect(packages.map(findFault).filter((fault) => fault !== null)).toEqual([]);
});

test('every package of the site has a permitted licence', () => {
  const ofSite = lockedPackages(join(ROOT, 'site/package-lock.json'));
  expect(ofSite.length).toBeGreaterThan(100);
  expect(ofSite.map(findFault).filter((fault) => fault !== null)).toEqual([]);
});

test('THIRD-PARTY.md equals the output of `make licences`', () => {
  expect(readFileSync(join(ROOT, 'THIRD-PARTY.md'), 'utf8')).toBe(page(packages));
});

const one = (licence: string | null, given: Partial<Locked> = {}): Locked => ({
  ...{ name: 'new', version: '1.0.0', licence, tool: false },
  ...given,
});

test.each<[string, Locked, string]>([
  ['a copyleft licence', one('AGPL-3.0-only'), 'Add it to PERMITTED'],
  ['an unknown licence', one('SEE LICENSE IN LICENSE.md'), 'Add it to PERMITTED'],
  ['a package without a licence', one(null), 'names no licence'],
  ['a non-permitted licence joined by AND', one('MIT AND GPL-3.0-only'), 'Add it to PERMITTED'],
  [
    'a package with an exception under another licence',
    one('SSPL-1.0', { name: 'libsignal' }),
    'Add it to PERMITTED',
  ],
])('rejects %s', (_sentence, given, words) => {
  expect(findFault(given)).toContain(words);
});

test.each<[string, Locked]>([
  ['a permitted licence joined by OR', one('(MIT OR GPL-3.0-only)')],
  ['a licence permitted only for tools', one('CC-BY-4.0', { tool: true })],
])('accepts %s', (_sentence, given) => {
  expect(findFault(given)).toBeNull();
});

test('an engine may hold libsignal, and the API may not', () => {
  const libsignal = [{ name: 'libsignal', license: 'GPL-3.0' }];
  expect([misplaced('engine', libsignal), misplaced('api', libsignal)]).toEqual([
    [],
    ['api: libsignal (GPL-3.0)'],
  ]);
});
