// Licences of the packages in the lock file, and where each is allowed. Reads only that file.
import { readFileSync } from 'node:fs';

/** Licences that only require attribution. */
const PERMITTED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PSF-2.0',
  'Unlicense',
]);

/** Additional licences for development tools and tests, which are not distributed. */
const TOOLS_ONLY = new Set(['CC-BY-4.0', 'MPL-2.0', 'Python-2.0']);

/** Licences that package.json does not name in SPDX form: name -> licence, and its source in the package. */
const STATED = {
  '@visx/vendor': ['MIT AND ISC', 'package.json: "MIT and ISC"'],
  async: ['MIT', 'package.json: "licenses", and LICENSE'],
  busboy: ['MIT', 'package.json: "licenses", and LICENSE'],
  'seq-queue': ['MIT', 'LICENSE'],
  streamsearch: ['MIT', 'package.json: "licenses", and LICENSE'],
};

/** The licence of a package from STATED or its package.json, or null. */
export const findLicence = ({ name, license }) =>
  STATED[name]?.[0] ?? (typeof license === 'string' ? license : null);

/**
 * Single decisions with their reasons. `images` lists the images that may contain the package; NOTICE names them.
 * @type {{ names: RegExp, licence: RegExp, images: string[], why: string }[]}
 */
const EXCEPTIONS = [
  {
    names: /^libsignal$/,
    licence: /^GPL-3\.0/,
    images: ['engine'],
    why: 'part of the engine, which is therefore under GPL-3.0 as a whole',
  },
  {
    names: /^@img\/sharp-/,
    licence: /LGPL-3\.0-or-later/,
    images: ['decoder'],
    why: 'libvips, a replaceable library',
  },
  {
    names: /^libheif-js$/,
    licence: /^LGPL-3\.0$/,
    images: ['decoder'],
    why: 'libheif, a replaceable library',
  },
  {
    names: /^elkjs$/,
    licence: /^EPL-2\.0$/,
    images: [],
    why: 'part of a Prisma web page',
  },
];

/** @returns {{ name: string, version: string, licence: string | null, tool: boolean }[]} unique, sorted by name */
export function lockedPackages(lockFile) {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8'));
  const found = new Map();
  for (const [path, { version, license, dev = false, link }] of Object.entries(packages)) {
    const name = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    if (name === undefined || link) continue;
    const key = `${name} ${version}`;
    const licence = findLicence({ name, license });
    const tool = dev && (found.get(key)?.tool ?? true);
    found.set(key, { name, version, licence, tool });
  }
  return [...found.values()].sort((a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1));
}

/** The reason why a package is not allowed, or null. */
export function findFault({ name, licence, tool }) {
  if (licence === null) return `${name} names no licence. Find it in the package and add it to STATED.`;
  if (isPermitted(licence, tool)) return null;
  if (EXCEPTIONS.some((one) => one.names.test(name) && one.licence.test(licence))) return null;
  return `${name} has the licence ${licence}. Add it to PERMITTED or EXCEPTIONS, or remove the package.`;
}

/** `A OR B` needs one permitted licence, `A AND B` all. */
function isPermitted(expression, tool) {
  const text = expression.replace(/^\((.*)\)$/, '$1').trim();
  if (text.includes(' OR ')) return text.split(' OR ').some((part) => isPermitted(part, tool));
  if (text.includes(' AND ')) return text.split(' AND ').every((part) => isPermitted(part, tool));
  return PERMITTED.has(text) || (tool && TOOLS_ONLY.has(text));
}

/** Packages in an image that no exception allows there. */
export function misplaced(image, packages) {
  return packages
    .map(({ name, license }) => ({ name, licence: findLicence({ name, license }) }))
    .filter(({ name, licence }) => {
      if (licence !== null && isPermitted(licence, false)) return false;
      const one = EXCEPTIONS.find((candidate) => candidate.names.test(name));
      return !one?.images.includes(image);
    })
    .map(({ name, licence }) => `${image}: ${name} (${licence ?? 'no licence'})`);
}

/** THIRD-PARTY.md: the packages that programs use at run time. */
export function page(packages) {
  const used = packages.filter(({ tool }) => !tool);
  const lines = used.map(
    ({ name, version, licence }) => `| ${name} | ${version} | ${licence ?? 'none named'} |`,
  );
  const notes = EXCEPTIONS.map(({ names, images, why }) => {
    const reached = ({ name, licence }) => names.test(name) && !isPermitted(licence ?? '', false);
    const some = used.filter(reached).map(({ name }) => `\`${name}\``);
    const where = images.length === 0 ? 'in no image' : `only in the ${images.join(', ')} image`;
    return `- ${some.join(', ')}: ${why}; ${where}.`;
  });
  return `# Third-party packages

Generated from package-lock.json by \`make licences\`; do not edit. The table lists all run-time packages of gwk, for every
platform. It omits development tools and tests. [NOTICE](NOTICE) explains the licences of the images. The SBOM
of each image ([docs/verify.md](docs/verify.md)) lists its contents with hashes.

Single decisions:

${notes.join('\n')}

| Package | Version | Licence |
| --- | --- | --- |
${lines.join('\n')}
`;
}
