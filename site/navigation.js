// The menu beside the pages, from the list of pages in README.md and the groups of the reference.
import { REPOSITORY, findPlace } from './links.js';
import { titleOf } from './reference.js';

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const addressOf = (place) => `/${place.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}`;

function readItem([, text, path]) {
  const place = findPlace(path);
  const link = place === null ? `${REPOSITORY}/blob/main/${path}` : addressOf(place);
  return { text: capital(text), link };
}

/** @returns {{ text: string, items: { text: string, link: string }[] }[]} a group for each line of the list */
export function readGroups(readme) {
  const [, list] = /^## Documentation\n\n((?:- .*\n)+)/m.exec(readme);
  return [...list.matchAll(/^- ([^:\n]+): (.*)$/gm)].map(([, text, line]) => ({
    text,
    items: [...line.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(readItem),
  }));
}

/** A second level of pages that belong to an item: runbooks and decisions. */
function addPages(item, pages) {
  const inside = pages.filter(({ link }) => link.startsWith(item.link) && link !== item.link);
  return item.link.endsWith('/') && inside.length > 0 ? { ...item, collapsed: true, items: inside } : item;
}

/** @param pages title and address of each page of the site */
export function makeSidebar(readme, document, pages) {
  const reference = document.tags.map(({ name }) => ({ text: titleOf(name), link: `/reference/${name}` }));
  // A group links to its first page. Without a link it would be a button that contains the button to open it.
  const group = (text, items) => ({ text, link: items[0].link, collapsed: true, items });
  const groups = readGroups(readme).map(({ text, items }) =>
    group(
      text,
      items.map((item) => addPages(item, pages)),
    ),
  );
  const api = group('API reference', [{ text: 'Overview', link: '/reference/' }, ...reference]);
  return [...groups.slice(0, 3), api, ...groups.slice(3)];
}

/** llms.txt (llmstxt.org): the pages with the address of their Markdown. */
export function renderLlms(summary, sidebar, address) {
  const items = (list) => list.flatMap((item) => [item, ...items(item.items ?? [])]);
  const line = ({ text, link }) => {
    const url = link.startsWith('http') ? link : `${address}${link.replace(/\/$/, '/index')}.md`;
    return `- [${text}](${url})`;
  };
  const groups = sidebar.map((group) => `## ${group.text}\n\n${items(group.items).map(line).join('\n')}\n`);
  return `# gwk\n\n> ${summary}\n\n${groups.join('\n')}`;
}
