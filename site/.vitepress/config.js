import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { REPOSITORY } from '../links.js';

const { sidebar, version, isReleased, description } = JSON.parse(
  readFileSync(new URL('../generated/site.json', import.meta.url), 'utf8'),
);
const base = process.env.SITE_BASE;

/** The file of a page in the repository, for its edit link. The reference is made from the code. */
function findSource(path) {
  if (path === 'index.md') return 'site/index.md';
  if (path.startsWith('reference/')) return 'site/reference.js';
  return `docs/${path.replace(/(^|\/)index\.md$/, '$1README.md')}`;
}

/** Diagrams are drawn in the browser: theme/diagram.js. */
function drawDiagrams(markdown) {
  const { fence } = markdown.renderer.rules;
  markdown.renderer.rules.fence = (tokens, index, ...others) => {
    const { info, content } = tokens[index];
    if (info.trim() !== 'mermaid') return fence(tokens, index, ...others);
    return `<Diagram text="${encodeURIComponent(content)}"></Diagram>`;
  };
}

/** Names of headings as on GitHub, so that one link works at both places. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

export default defineConfig({
  srcDir: 'generated',
  outDir: 'dist',
  cacheDir: 'generated/.cache',
  base,
  title: 'gwk',
  description,
  lang: 'en',
  cleanUrls: true,
  head: [['link', { rel: 'icon', href: `${base}icon.svg` }]],
  sitemap: { hostname: process.env.SITE_ADDRESS + base },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify },
    config: drawDiagrams,
    languageAlias: { promql: 'sql' },
  },
  vite: { build: { chunkSizeWarningLimit: 2000 } },
  // Examples name gateways on this machine.
  ignoreDeadLinks: 'localhostLinks',
  themeConfig: {
    logo: '/icon.svg',
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar,
    nav: [
      { text: 'Tutorials', link: '/tutorials/', activeMatch: '/tutorials/' },
      { text: 'API', link: '/reference/', activeMatch: '/reference/' },
      { text: 'Install', link: '/install' },
      {
        text: isReleased ? version : `${version} (not released)`,
        items: [
          { text: 'Changelog', link: `${REPOSITORY}/blob/main/CHANGELOG.md` },
          { text: 'All versions', link: `${REPOSITORY}/releases` },
          { text: 'Releases and promises', link: '/releasing' },
          { text: 'Upgrade', link: '/upgrade' },
        ],
      },
    ],
    editLink: { pattern: ({ frontmatter }) => frontmatter.source, text: 'Edit this page' },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
  },
  transformPageData(page) {
    page.frontmatter.source ??= `${REPOSITORY}/edit/main/${findSource(page.relativePath)}`;
  },
});
