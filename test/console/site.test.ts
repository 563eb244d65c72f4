import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, posix } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { ROOT } from '../support/program.js';
import { describeWithChromium, startChromium } from './chromium.js';
import { listViolations, takePicture } from './stage.js';

const SITE = join(ROOT, 'site');
const DIST = join(SITE, 'dist');
const BASE = '/gwk/';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/** The file that Pages serves for an address below the base. */
const findFile = (path: string): string =>
  path === '' || path.endsWith('/') ? `${path}index.html` : extname(path) === '' ? `${path}.html` : path;

function serve(): Server {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://localhost');
    const file = findFile(decodeURI(pathname).slice(BASE.length));
    try {
      const content = readFileSync(join(DIST, file));
      response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain' }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  }).listen(0, '127.0.0.1');
}

const LOOKS = [
  { name: 'desktop', viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  { name: 'phone', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const;

/** Pages of each kind: start, tutorial, reference, diagrams, list. */
const PAGES = ['', 'tutorials/node', 'reference/messages', 'architecture', 'runbooks/'];

describeWithChromium('the site', () => {
  let server: Server;
  let browser: Browser;
  let address: string;

  beforeAll(async () => {
    execFileSync('make', ['--silent', 'site-packages'], { cwd: ROOT, stdio: 'inherit' });
    const env = { ...process.env, SITE_BASE: BASE };
    execFileSync(process.execPath, [join(SITE, 'build.js')], { cwd: ROOT, env });
    server = serve();
    await once(server, 'listening');
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}`;
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  async function open(path: string, { viewport, colorScheme }: (typeof LOOKS)[number]): Promise<Page> {
    const context = await browser.newContext({ viewport, colorScheme });
    const page = await context.newPage();
    await page.goto(address + path);
    const diagrams = page.locator('pre.diagram');
    // The text of a diagram becomes a picture.
    await diagrams.first().waitFor({ state: 'detached' });
    return page;
  }

  test.each(PAGES)('axe finds nothing on /%s, which is not wider than its window', async (path) => {
    for (const look of LOOKS) {
      const page = await open(path, look);
      expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false);
      expect([look.name, await listViolations(page)]).toEqual([look.name, []]);
      await page.context().close();
    }
  });

  test('the start page is one screen on a desktop and a phone', async () => {
    for (const look of LOOKS) {
      const page = await open('', look);
      const height = await page.evaluate<number>('document.documentElement.scrollHeight');
      expect([look.name, height]).toEqual([look.name, look.viewport.height]);
      await takePicture(page, `site-start-${look.name}`);
      await page.context().close();
    }
  });

  test('the search finds an operation of the reference', async () => {
    const page = await open('', LOOKS[0]);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('searchbox').fill('React to a message');
    await page.locator('.VPLocalSearchBox a[href*="reference/messages"]').first().waitFor();
    await page.context().close();
  });

  test('every link leads to a page and a heading, and every page has its Markdown', () => {
    const files = readdirSync(DIST, { recursive: true }).map(String);
    const anchors = new Map(
      files
        .filter((name) => name.endsWith('.html'))
        .map((name) => {
          const html = readFileSync(join(DIST, name), 'utf8');
          return [name, { html, ids: new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)) }];
        }),
    );
    const faults = [...anchors].flatMap(([name, { html }]) =>
      [...html.matchAll(/<a [^>]*href="([^"]+)"/g)]
        .map(([, href]) => href!)
        .filter((href) => !/^[a-z]+:/.test(href))
        .filter((href) => {
          const base = `${BASE}${name.replace(/(^|\/)index\.html$/, '$1')}`;
          const { pathname, hash } = new URL(href, `http://localhost${base}`);
          const file = findFile(posix.normalize(decodeURI(pathname)).slice(BASE.length));
          const target = anchors.get(file);
          if (!target) return !files.includes(file);
          return hash !== '' && !target.ids.has(decodeURIComponent(hash.slice(1)));
        })
        .map((href) => `${name}: ${href}`),
    );
    expect(anchors.size).toBeGreaterThan(150);
    expect(faults).toEqual([]);
    const missing = [...anchors.keys()].filter(
      (name) => name !== '404.html' && !files.includes(name.replace(/html$/, 'md')),
    );
    expect(missing).toEqual([]);
    const listed = readFileSync(join(DIST, 'llms.txt'), 'utf8').matchAll(/github\.io\/gwk\/(\S+\.md)\)/g);
    expect([...listed].map(([, name]) => name!).filter((name) => !files.includes(name))).toEqual([]);
  });
});
