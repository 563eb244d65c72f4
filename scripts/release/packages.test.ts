import { readFileSync } from 'node:fs';
import { findManifestFaults, findOtherVersions, replaceOnce, VERSION } from './packages.ts';

const repository = { url: 'git+https://github.com/gwk-dev/gwk.git', directory: 'cli' };
test.each([
  ['a private package', { private: true, repository }, ['it is private']],
  ['a package without a repository', {}, [expect.stringContaining('its repository is not git+https')]],
  [
    'a package of another repository',
    { repository: { ...repository, url: 'https://github.com/a/b' } },
    [expect.stringContaining('its repository is not')],
  ],
  [
    'a package without its folder',
    { repository: { url: repository.url } },
    [expect.stringContaining('its repository is not')],
  ],
  ['a package that npm accepts', { repository }, []],
])('manifest faults of %s', (_, manifest, faults) => {
  expect(findManifestFaults(manifest)).toEqual(faults);
});

test('all parts have the version of the repository', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(findOtherVersions(version)).toEqual([]);
});

test('replaces a part that occurs once, also by a text with dollar signs', () => {
  expect(replaceOnce('a b c', 'b', '$&')).toBe('a $& c');
  expect(() => replaceOnce('a', 'b', 'c')).toThrow('not found once: "b"');
  expect(() => replaceOnce('b b', 'b', 'c')).toThrow('not found once: "b"');
});

test.each(['0.1', 'v0.1.0', '0.1.0-rc.1', '0.1.0;id', '0.1.0\n', ''])('%j is no version', (text) => {
  expect(VERSION.test(text)).toBe(false);
});
