// Which licences the packages of the lock file have, and which of them may be where. Needs nothing but that file.
import { readFileSync } from 'node:fs';

/** Free of conditions on what uses them, beyond being named. */
export const PERMITTED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Unlicense',
]);

/** Permitted where nothing is distributed with them: tools of development and tests. */
const OF_TOOLS = new Set(['CC-BY-4.0']);

const COPYLEFT = /^(L|A)?GPL-\d\.\d(-only|-or-later)?$/;

/** What package.json says in words of its own, read in the package: name -> licence, and where it stands. */
const STATED = {
  '@visx/vendor': ['MIT AND ISC', 'package.json: "MIT and ISC"'],
  async: ['MIT', 'package.json: "licenses", and LICENSE'],
  busboy: ['MIT', 'package.json: "licenses", and LICENSE'],
  'seq-queue': ['MIT', 'LICENSE'],
  streamsearch: ['MIT', 'package.json: "licenses", and LICENSE'],
};

/** The licence of a package, as its package.json or STATED has it; null where neither names one. */
export const licenceOf = ({ name, license }) =>
  STATED[name]?.[0] ?? (typeof license === 'string' ? license : null);

/**
 * Decided one by one, each with why. `images`: those that may hold it; NOTICE names them.
 * @type {{ names: RegExp, licence: RegExp, images: string[], why: string }[]}
 */
export const EXCEPTIONS = [
  {
    names: /^libsignal$/,
    licence: /^GPL-3\.0/,
    images: ['engine'],
    why: 'part of the engine, which is therefore under GPL-3.0 as a whole',
  },
  {
    names: /^@ffmpeg-installer\//,
    licence: /GPL|ffmpeg/,
    images: ['worker'],
    why: 'a program of its own, which the worker starts; nothing is linked to it',
  },
  {
    names: /^@img\/sharp-/,
    licence: /LGPL-3\.0-or-later/,
    images: ['worker'],
    why: 'libvips, a library that can be replaced',
  },
  {
    names: /^elkjs$/,
    licence: /^EPL-2\.0$/,
    images: [],
    why: 'comes with a page of Prisma that is in no image',
  },
];

/** @returns {{ name: string, version: string, licence: string | null, tool: boolean }[]} each once, by name */
export function lockedPackages(lockFile) {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8'));
  const found = new Map();
  for (const [path, { version, license, dev = false, link }] of Object.entries(packages)) {
    const name = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    if (name === undefined || link) continue;
    const key = `${name} ${version}`;
    const licence = licenceOf({ name, license });
    const tool = dev && (found.get(key)?.tool ?? true);
    found.set(key, { name, version, licence, tool });
  }
  return [...found.values()].sort((a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1));
}

/** Null where the package may be used; else why not. */
export function faultOf({ name, licence, tool }) {
  if (licence === null) return `${name} names no licence: read it in the package, and write it into STATED`;
  if (isPermitted(licence, tool)) return null;
  if (EXCEPTIONS.some((one) => one.names.test(name) && one.licence.test(licence))) return null;
  return `${name} is under ${licence}, which nobody has decided on: write it into PERMITTED or EXCEPTIONS, or do without`;
}

/** Of `A OR B` one has to be permitted, of `A AND B` each. */
function isPermitted(expression, tool) {
  const text = expression.replace(/^\((.*)\)$/, '$1').trim();
  if (text.includes(' OR ')) return text.split(' OR ').some((part) => isPermitted(part, tool));
  if (text.includes(' AND ')) return text.split(' AND ').every((part) => isPermitted(part, tool));
  return PERMITTED.has(text) || (tool && OF_TOOLS.has(text));
}

/** Whether it consists of names that SPDX knows: packages also write `GPLv3`, or an address. */
export function isExpression(licence) {
  const names = licence.replace(/[()]/g, '').split(/ (?:AND|OR) /);
  return names.every((name) => PERMITTED.has(name) || OF_TOOLS.has(name) || COPYLEFT.test(name));
}

/** Packages that an image holds though no exception lets it. */
export function misplaced(image, packages) {
  return packages
    .map(({ name, license }) => ({ name, licence: licenceOf({ name, license }) }))
    .filter(({ name, licence }) => {
      if (licence !== null && isPermitted(licence, false)) return false;
      const one = EXCEPTIONS.find((candidate) => candidate.names.test(name));
      return !one?.images.includes(image);
    })
    .map(({ name, licence }) => `${image}: ${name} (${licence ?? 'no licence'})`);
}

/** THIRD-PARTY.md: what is used at run time. */
export function page(packages) {
  const used = packages.filter(({ tool }) => !tool);
  const lines = used.map(
    ({ name, version, licence }) => `| ${name} | ${version} | ${licence ?? 'none named'} |`,
  );
  const notes = EXCEPTIONS.map(({ names, images, why }) => {
    const reached = ({ name, licence }) => names.test(name) && !isPermitted(licence ?? '', false);
    const some = used.filter(reached).map(({ name }) => `\`${name}\``);
    const where = images.length === 0 ? 'in no image' : `in the image of the ${images.join(', ')} alone`;
    return `- ${some.join(', ')}: ${why}; ${where}.`;
  });
  return `# Third-party packages

Made from package-lock.json by \`make licences\`; do not edit. What programs of gwk may load, for every machine that they
run on; tools of development and tests are left out. What this means for images: [NOTICE](NOTICE). What is in each image,
with hashes: \`make sbom\`.

Decided one by one:

${notes.join('\n')}

| Package | Version | Licence |
| --- | --- | --- |
${lines.join('\n')}
`;
}
