import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FORBIDDEN, HOSTILE } from '@gwk/test/support/hostile/hostile-urls';
import { buffer } from 'node:stream/consumers';
import { AddressGuard, guardedAgent } from '../../platform/address-guard/guard.js';
import { Fetcher } from './fetcher.js';

/** A local server that counts connections: each of them passed the guard. */
let server: Server;
let port: number;
let connections = 0;
beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/compressed') response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
    else if (request.url === '/large')
      response.writeHead(200, { 'content-length': 1_001 }).end('x'.repeat(1_001));
    else if (request.url?.startsWith('/to/')) {
      response.writeHead(302, { location: decodeURIComponent(request.url.slice(4)) }).end();
    } else response.writeHead(200, { 'content-type': 'text/plain' }).end('a file');
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
const strict = new AddressGuard({ loopback: false, forbiddenRanges: FORBIDDEN, plainHttp: true });
const local = new AddressGuard({ loopback: true, forbiddenRanges: FORBIDDEN, plainHttp: true });
const agents = [strict, local].map((guard) => guardedAgent(guard, { connectTimeoutMs: 600_000 }));
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.destroy()));
  server.closeAllConnections();
  server.close();
});

const fetcherOf = (guard: AddressGuard, agent: number) =>
  new Fetcher({ guard, dispatcher: agents[agent]!, userAgent: 'test' });
const outcome = (url: string, fetcher = fetcherOf(strict, 0)) =>
  fetcher.fetch(url, 1_000, AbortSignal.timeout(600_000)).then(
    async ({ body }) => (await buffer(body)).toString(),
    (error: Error) => error.message,
  );

const LITERAL = HOSTILE.filter(([, , finding]) => finding === 'address-not-public');

test.each(LITERAL)('%s is not called by https or http', async (_, url) => {
  const before = connections;
  for (const protocol of ['https:', 'http:']) {
    const target = url.replaceAll('PORT', String(port)).replace(/^https:/, protocol);
    expect(await outcome(target)).toMatch(/^the URL is not allowed/);
  }
  expect(connections).toBe(before);
});

const here = (path: string) => outcome(`http://127.0.0.1:${port}${path}`, fetcherOf(local, 1));

test.each([
  ['http://10.0.0.1/', 'the URL is not allowed (address-not-public)'],
  ['http://[::ffff:169.254.169.254]/', 'the URL is not allowed (address-not-public)'],
  ['http://metadata.internal/', 'the URL is not allowed (name-not-public)'],
  ['file:///etc/passwd', 'the URL is not allowed (not-https)'],
  ['http://user@example.com/', 'the URL is not allowed (user-info)'],
])('a redirect to %s is not followed', async (target, expected) => {
  expect(await here(`/to/${encodeURIComponent(target)}`)).toBe(expected);
});

test('does not read a compressed or too large body', async () => {
  expect(await here('/file')).toBe('a file');
  expect(await here('/compressed')).toBe('the file could not be fetched (sent compressed)');
  expect(await here('/large')).toBe('the file is too large');
});
