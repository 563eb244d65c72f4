// Writes the contents of the images as CycloneDX (`make sbom`): packages with version, licence and hash from the lock
// file, Node, and the libraries of the build machine. Needs no network.
//   node images/sbom.js [--output FOLDER] [program ...]
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isExpression, findLicence } from '../scripts/licences/licences.js';
import { findPackages } from './packages.js';
import { IMAGES } from './programs.js';
import { makeProgram, makeRuntime } from './roots.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { output: { type: 'string', default: join(ROOT, '.images') } },
});

const work = mkdtempSync(join(tmpdir(), 'gwk-sbom-'));
try {
  mkdirSync(values.output, { recursive: true });
  makeRuntime(join(work, 'runtime'));
  const runtime = listFiles(join(work, 'runtime'));
  for (const name of positionals.length > 0 ? positionals : Object.keys(IMAGES)) {
    const image = IMAGES[name];
    makeProgram(ROOT, image, join(work, name));
    const file = join(values.output, `${image.title}.cdx.json`);
    const components = [
      node(),
      ...[...runtime, ...listFiles(join(work, name))].filter(unique()).map(library),
      ...image.workspaces.map(workspace),
      ...findPackages(ROOT, image).map(npm),
    ];
    writeFileSync(file, `${JSON.stringify(document(image, components), null, 2)}\n`);
    process.stdout.write(`${file}  ${components.length} components\n`);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}

function document({ title, description, licenses }, components) {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'container',
        name: title,
        version,
        description,
        licenses: [{ expression: licenses }],
      },
    },
    components,
  };
}

function node() {
  const number = process.versions.node;
  return {
    type: 'platform',
    name: 'node',
    version: number,
    purl: `pkg:generic/node@${number}`,
    licenses: [{ license: { id: 'MIT' } }],
  };
}

function library({ path, sha256 }) {
  return { type: 'file', name: path, hashes: [{ alg: 'SHA-256', content: sha256 }] };
}

function workspace(name) {
  return {
    type: 'application',
    name: `@gwk/${name}`,
    version,
    licenses: [{ license: { id: 'Apache-2.0' } }],
  };
}

function npm({ name, version: number, license, integrity }) {
  const licence = findLicence({ name, license });
  return {
    type: 'library',
    name,
    version: number,
    purl: `pkg:npm/${name.replace('@', '%40')}@${number}`,
    ...(licence !== null && {
      licenses: [isExpression(licence) ? { expression: licence } : { license: { name: licence } }],
    }),
    ...(integrity?.startsWith('sha512-') && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.slice(7), 'base64').toString('hex') }],
    }),
  };
}

/** Programs and libraries of the build machine: all files except /app, /etc and Node. */
function listFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ file, path: file.slice(folder.length) }))
    .filter(({ path }) => !path.startsWith('/app/') && !path.startsWith('/etc/') && path !== '/usr/bin/node')
    .map(({ file, path }) => ({
      path,
      sha256: createHash('sha256').update(readFileSync(file)).digest('hex'),
    }));
}

function unique() {
  const seen = new Set();
  return ({ path }) => !seen.has(path) && seen.add(path);
}
