import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import express from 'express';
import { processClock } from '@gwk/core/clock';
import type { Problem } from '@gwk/core/problems/problems';
import { PROBLEMS } from '@gwk/core/problems/problems';
import { serveConsole } from './console-files.js';
import { createServer } from './server.js';

const SCRIPT = 'document.title = "gwk";\n'.repeat(50);
const PAGE = '<meta nonce="CSP_NONCE"><script nonce="CSP_NONCE" src="/console/assets/index-1.js"></script>';

const MEDIA = 'https://files.example.com';

let folder: string;
let server: http.Server;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwk-console-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), PAGE);
  writeFileSync(join(folder, 'secret.txt'), 'outside of assets');
  writeFileSync(join(folder, 'assets/index-1.js'), SCRIPT);
  writeFileSync(join(folder, 'assets/index-1.js.br'), brotliCompressSync(SCRIPT));
  writeFileSync(join(folder, 'assets/index-1.js.gz'), gzipSync(SCRIPT));
  writeFileSync(join(folder, 'assets/icon-1.svg'), '<svg/>');
  server = await listen(folder);
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

async function listen(files: string, secure = false): Promise<http.Server> {
  const app = express();
  app.use(
    serveConsole(
      { answered: () => undefined, closing: false, clock: processClock },
      { ownHost: null, secure, media: MEDIA },
      files,
    ),
  );
  app.use((_request, response) => void response.status(418).end());
  const started = createServer({
    app,
    maxConnections: 100,
    clientError: (_, socket) => socket.destroy(),
    failed: (error, _, response) => {
      const { code, extras } = error as Problem;
      response.writeHead(PROBLEMS[code].status, extras.allow === undefined ? {} : { Allow: extras.allow });
      response.end();
    },
  });
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  return started;
}

const at = ({ port }: AddressInfo, path: string): string => `http://127.0.0.1:${port}${path}`;
const get = (path: string, init?: RequestInit) => fetch(at(server.address() as AddressInfo, path), init);

test.each(['/console', '/console/', '/console/acc_1/numbers/ins_1', '/console/handoff'])(
  'GET %s is the page, with a policy that allows no inline script and no frame',
  async (path) => {
    const response = await get(path);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const policy = response.headers.get('content-security-policy')!.split('; ');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain(`img-src 'self' data: ${MEDIA}`);
    expect(policy).toContain(`media-src 'self' ${MEDIA}`);
    expect(policy.join()).not.toContain('unsafe');
    const nonce = /'nonce-([\w-]{22})'/.exec(policy.join())![1]!;
    expect(await response.text()).toBe(PAGE.replaceAll('CSP_NONCE', nonce));
  },
);

test('each page has a nonce of its own', async () => {
  const [first, second] = await Promise.all([get('/console'), get('/console')]);
  expect(await first.text()).not.toBe(await second.text());
});

test.each([
  ['br', 'gzip, deflate, br', 'br'],
  ['gzip', 'gzip;q=1.0, deflate', 'gzip'],
  ['the plain file', 'identity', null],
])('an asset is sent as %s to a client that accepts "%s"', async (_name, accepted, encoding) => {
  const response = await get('/console/assets/index-1.js', { headers: { 'Accept-Encoding': accepted } });
  expect(response.headers.get('content-encoding')).toBe(encoding);
  expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(response.headers.get('vary')).toBe('Accept-Encoding');
  expect(await response.text()).toBe(SCRIPT);
});

test('a file without compressed copies is sent as it is', async () => {
  const response = await get('/console/assets/icon-1.svg');
  expect([response.headers.get('content-encoding'), await response.text()]).toEqual([null, '<svg/>']);
});

test.each(['/console/assets/index-0.js', '/console/assets/index-1.js.br', '/console/assets/..%2fsecret.txt'])(
  'GET %s is not found: no other file of the folder is served',
  async (path) => {
    expect((await get(path)).status).toBe(404);
  },
);

test('other methods than GET and HEAD are refused', async () => {
  const refused = await get('/console', { method: 'POST' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  const head = await get('/console', { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

test.each(['/console/api/session', '/console/api', '/consoles', '/v1/messages'])(
  '%s passes on to the operations',
  async (path) => {
    expect((await get(path)).status).toBe(418);
  },
);

test('without built files, every path passes on', async () => {
  const bare = await listen(join(folder, 'nothing'));
  expect((await fetch(at(bare.address() as AddressInfo, '/console'))).status).toBe(418);
  await new Promise((resolve) => bare.close(resolve));
});

test('over https, browsers shall use no other protocol; over http they are not asked to', async () => {
  const secure = await listen(folder, true);
  const { headers } = await fetch(at(secure.address() as AddressInfo, '/console'));
  expect(headers.get('strict-transport-security')).toBe('max-age=31536000');
  await new Promise((resolve) => secure.close(resolve));
  expect((await get('/console')).headers.get('strict-transport-security')).toBeNull();
});
