// Builds the site into site/dist: `make site`. It copies the pages into site/generated, where their links lead to pages
// of the site or to the repository, and lets VitePress render them. A link to a page that does not exist fails the build.
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findPlace, moveLinks } from './links.js';
import { makeSidebar, renderLlms } from './navigation.js';
import { renderReference } from './reference.js';

const folder = import.meta.dirname;
const root = join(folder, '..');
const generated = join(folder, 'generated');
const dist = join(folder, 'dist');

/** The path below the address of the host, as Pages serves a project. */
const BASE = process.env.SITE_BASE ?? '/gwk/';
const ADDRESS = (process.env.SITE_ADDRESS ?? 'https://gwk-dev.github.io').replace(/\/$/, '');

const read = (path) => readFileSync(join(root, path), 'utf8');
const document = JSON.parse(read('sdk/typescript/src/generated/openapi.json'));
const readme = read('README.md');
const { version, description } = JSON.parse(read('package.json'));

function write(path, text) {
  mkdirSync(dirname(join(generated, path)), { recursive: true });
  writeFileSync(join(generated, path), text);
}

/** Files of the repository that are pages or pictures of the site. */
function listSources() {
  const files = readdirSync(join(root, 'docs'), { recursive: true }).map((name) =>
    join('docs', String(name)),
  );
  return ['site/index.md', ...files.filter((path) => /\.(md|png)$/.test(path)).sort()];
}

/** @returns title and address of each page, in the order of their names */
function copyPages() {
  return listSources().flatMap((path) => {
    const place = findPlace(path);
    if (path.endsWith('.png')) {
      mkdirSync(dirname(join(generated, place)), { recursive: true });
      copyFileSync(join(root, path), join(generated, place));
      return [];
    }
    const text = moveLinks(read(path), path);
    write(place, text);
    const title = /^# (.*)$/m.exec(text)?.[1] ?? 'gwk';
    return [{ text: title, link: `/${place.replace(/index\.md$/, '').replace(/\.md$/, '')}` }];
  });
}

/** The pages as they were before VitePress, for programs that read Markdown. */
function publishMarkdown() {
  for (const name of readdirSync(generated, { recursive: true }))
    if (name.endsWith('.md')) cpSync(join(generated, name), join(dist, name));
}

function render() {
  const vitepress = join(folder, 'node_modules/vitepress/bin/vitepress.js');
  const env = { ...process.env, SITE_BASE: BASE, SITE_ADDRESS: ADDRESS };
  const { status } = spawnSync(process.execPath, [vitepress, 'build', folder], { stdio: 'inherit', env });
  if (status !== 0) process.exit(1);
}

rmSync(generated, { recursive: true, force: true });
const pages = copyPages();
for (const [name, text] of renderReference(document)) write(`reference/${name}`, text);
const sidebar = makeSidebar(readme, document, pages);
const isReleased = read('CHANGELOG.md').includes(`\n## [${version}]`);
write('site.json', JSON.stringify({ sidebar, version, isReleased, description }));
write('public/llms.txt', renderLlms(description, sidebar, ADDRESS + BASE.replace(/\/$/, '')));
write('public/openapi.json', JSON.stringify(document));
copyFileSync(join(root, 'console/src/icon.svg'), join(generated, 'public/icon.svg'));
cpSync(
  join(folder, 'node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js'),
  join(generated, 'public/mermaid.js'),
);
render();
publishMarkdown();
