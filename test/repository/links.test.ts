import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../support/program.js';

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  'CHANGELOG.md',
  'test/README.md',
  'test/network/README.md',
  'test/kubernetes/README.md',
];
/** Pages of the repository on GitHub. */
const ON_GITHUB = /^\.\.\/\.\.\/security\//;

/** The anchors that GitHub makes of the headings. */
function anchorsOf(path: string): string[] {
  const headings = [...readFileSync(path, 'utf8').matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => heading!);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function isBroken(page: string, link: string): boolean {
  const [target, anchor] = link.split('#');
  const path = target === '' ? join(ROOT, page) : join(ROOT, dirname(page), target!);
  if (!existsSync(path)) return true;
  return anchor !== undefined && !anchorsOf(path).includes(anchor);
}

test.each(PAGES)('%s links to files and headings that exist', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  const local = links.filter((link) => !/^[a-z]+:/.test(link) && !ON_GITHUB.test(link));
  expect(local.filter((link) => isBroken(page, link))).toEqual([]);
});
