import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeSbom } from './sbom.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gwk-sbom-'));
  mkdirSync(join(root, 'app'));
  put('usr/bin/node', '\0https://nodejs.org/download/release/v24.1.0/node-v24.1.0-headers.tar.gz\0');
});
afterEach(() => rmSync(root, { recursive: true }));

const LOCK = { 'node_modules/@a/b': { integrity: 'sha512-AAEC' } };

function put(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

const list = (): Record<string, unknown>[] => {
  const image = { name: 'gwk-x', version: '1.0.0', digest: 'sha256:00', platform: 'amd64' };
  return (makeSbom(image, root, LOCK) as { components: Record<string, unknown>[] }).components;
};

test('lists installed packages with licence and hash, in whatever folder npm put them', () => {
  put(
    'app/node_modules/@a/b/package.json',
    JSON.stringify({ name: '@a/b', version: '1.2.3', license: 'MIT' }),
  );
  put('app/api/node_modules/c/package.json', JSON.stringify({ name: 'busboy', version: '2.0.0' }));
  put('app/node_modules/@gwk/core/package.json', JSON.stringify({ name: '@gwk/core', version: '1.0.0' }));
  put('app/node_modules/@a/b/dist/package.json', JSON.stringify({ type: 'module' }));
  expect(list().filter(({ type }) => type === 'library')).toEqual([
    {
      ...{ type: 'library', name: '@a/b', version: '1.2.3' },
      ...{ purl: 'pkg:npm/%40a/b@1.2.3', 'bom-ref': 'pkg:npm/%40a/b@1.2.3' },
      licenses: [{ expression: 'MIT' }],
      hashes: [{ alg: 'SHA-512', content: '000102' }],
    },
    {
      ...{ type: 'library', name: 'busboy', version: '2.0.0' },
      ...{ purl: 'pkg:npm/busboy@2.0.0', 'bom-ref': 'pkg:npm/busboy@2.0.0' },
      licenses: [{ expression: 'MIT' }],
    },
  ]);
});

test('lists Debian packages and the release of Node', () => {
  put('var/lib/dpkg/status.d/libc6', 'Package: libc6\nVersion: 2.41-1+b1\nArchitecture: amd64\n');
  put('var/lib/dpkg/status.d/libc6.md5sums', '0  usr/lib/x\n');
  expect(list().map(({ purl }) => purl)).toEqual([
    'pkg:deb/debian/libc6@2.41-1%2Bb1?arch=amd64',
    'pkg:generic/node@24.1.0',
  ]);
});
