import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ROOT } from '../support/program.js';

/** Folders without pages of this repository. */
const SKIPPED = new Set(['node_modules', 'dist', 'generated', '.git', '.local', '.images']);

function pagesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : pagesIn(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

/** Pages of the repository on GitHub, such as the form for security reports. */
const ON_GITHUB = /^\.\.\/\.\.\/security\//;

const withoutFences = (text: string): string => text.replaceAll(/^ *```[^]*?^ *```/gm, '');
const read = (path: string): string => withoutFences(readFileSync(path, 'utf8'));

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of text.matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const words = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = words.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
    let unique = anchor;
    for (let copy = 1; anchors.has(unique); copy++) unique = `${anchor}-${copy}`;
    anchors.add(unique);
  }
  return anchors;
}

function linksIn(text: string): string[] {
  const prose = text.replaceAll(/`[^`\n]*`/g, '');
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
  return targets.filter((target) => !/^[a-z]+:/i.test(target) && !ON_GITHUB.test(target));
}

/** Why a link of a page is broken, or null. */
function faultOf(page: string, link: string): string | null {
  const [path, anchor] = link.split('#') as [string, string | undefined];
  const target = path === '' ? page : join(dirname(page), decodeURI(path));
  if (!existsSync(target)) return `${link}: no such file`;
  if (anchor === undefined || !target.endsWith('.md')) return null;
  return anchorsOf(read(target)).has(anchor) ? null : `${link}: no such heading`;
}

const PAGES = pagesIn(ROOT).map((path) => relative(ROOT, path));

test.each(PAGES)('every relative link of %s points to an existing file and heading', (page) => {
  const path = join(ROOT, page);
  const faults = linksIn(read(path)).map((link) => faultOf(path, link));
  expect(faults.filter((fault) => fault !== null)).toEqual([]);
});
