// Where the links of a page lead on the site.
import { dirname, join, relative } from 'node:path/posix';

export const REPOSITORY = 'https://github.com/gwk-dev/gwk';

/** The place of a file of the repository on the site; null: the site does not have it. */
export function findPlace(path) {
  if (path === 'site/index.md') return 'index.md';
  if (!path.startsWith('docs/')) return null;
  if (path.endsWith('/')) return findPlace(`${path}README.md`);
  if (!/\.(md|png)$/.test(path)) return null;
  return path.slice('docs/'.length).replace(/(^|\/)README\.md$/, '$1index.md');
}

/** @param path of the page in the repository */
function moveLink(target, path) {
  if (/^([a-z]+:|#)/i.test(target)) return target;
  const [file, anchor] = target.split('#');
  const anchored = anchor === undefined ? '' : `#${anchor}`;
  const found = join(dirname(path), file);
  const place = findPlace(found);
  if (place === null) return `${REPOSITORY}/blob/main/${found}${anchored}`;
  const moved = relative(dirname(findPlace(path)), place);
  return `${moved.startsWith('.') ? '' : './'}${moved}${anchored}`;
}

/** Moves the links of a page, outside of code. */
export const moveLinks = (text, path) =>
  text
    .split(/(^ *```[^]*?^ *```$|`[^`\n]*`)/m)
    .map((part, index) =>
      index % 2 ? part : part.replaceAll(/\]\(([^)\s]+)\)/g, (_, target) => `](${moveLink(target, path)})`),
    )
    .join('');
