import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { withoutFileHandles } from '@gwk/test/support/file-handles';
import { FORBIDDEN, HOSTILE } from '@gwk/test/support/hostile/hostile-urls';
import { buffer } from 'node:stream/consumers';
import { AddressGuard, guardedAgent } from '../../platform/address-guard/guard.js';
import { ACCEPT, Fetcher } from './fetcher.js';

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: Buffer | string;
}
const text = Buffer.from('a file');
const named = (disposition: string): Answer => ({ headers: { 'content-disposition': disposition } });
const ANSWERS: Record<string, Answer> = {
  '/large': { headers: { 'content-length': '1001' }, body: 'x'.repeat(1_001) },
  '/gzip': { headers: { 'content-encoding': 'gzip' }, body: gzipSync(text) },
  '/brotli': { headers: { 'content-encoding': 'br' }, body: brotliCompressSync(text) },
  '/twice': { headers: { 'content-encoding': 'br, gzip' }, body: gzipSync(brotliCompressSync(text)) },
  '/broken': { headers: { 'content-encoding': 'gzip' }, body: gzipSync(text).subarray(0, 15) },
  '/unknown': { headers: { 'content-encoding': 'compress' } },
  '/whole': { status: 206, headers: { 'content-range': 'bytes 0-5/6' } },
  '/part': { status: 206, headers: { 'content-range': 'bytes 0-5/600' } },
  '/rest': { status: 206, headers: { 'content-range': 'bytes 1-6/7' } },
  '/203': { status: 203 },
  '/plain': named('attachment; filename=report.pdf'),
  '/quoted': named('attachment; filename="a \\"b\\".pdf"'),
  '/both': named('attachment; filename="x.pdf"; filename*=UTF-8\'\'relat%C3%B3rio.pdf'),
  '/utf8': named(Buffer.from('inline; filename="relatório.pdf"').toString('latin1')),
  '/percent': named('attachment; filename="relat%C3%B3rio.pdf"'),
  '/hostile': named("attachment; filename*=UTF-8''..%2F..%2Fa%E2%80%AEfdp.exe"),
  '/dir/path%20name.pdf': named('attachment'),
  '/malformed.pdf': named('attachment; filename=a b;;"'),
};

/** A local server that counts connections: each of them passed the guard. */
let server: Server;
let port: number;
let connections = 0;
beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url!;
    const answer = ANSWERS[path];
    if (answer) response.writeHead(answer.status ?? 200, answer.headers).end(answer.body ?? 'a file');
    else if (path === '/accept') response.end(request.headers.accept);
    else if (path.startsWith('/hops/')) {
      const left = Number(path.slice(6));
      if (left === 0) response.end('a file');
      else response.writeHead(302, { location: `/hops/${left - 1}` }).end();
    } else if (path.startsWith('/to/')) {
      response.writeHead(302, { location: decodeURIComponent(path.slice(4)) }).end();
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
  fetcher
    .fetch(url, 1_000, AbortSignal.timeout(600_000))
    .then(async ({ body }) => (await buffer(body)).toString())
    .catch((error: Error) => error.message);

test('a lack of file handles is not a fault of the host', async () => {
  const agent = guardedAgent(local, { connectTimeoutMs: 600_000 });
  const fetcher = new Fetcher({ guard: local, dispatcher: agent, userAgent: 'test' });
  const url = `http://127.0.0.1:${port}/file`;
  const fetching = withoutFileHandles(() => fetcher.fetch(url, 1_000, AbortSignal.timeout(600_000)));
  await expect(fetching).rejects.toMatchObject({ code: 'EMFILE' });
  await agent.destroy();
});

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

test.each([
  ['/file', 'a file'],
  ['/gzip', 'a file'],
  ['/brotli', 'a file'],
  ['/twice', 'a file'],
  ['/broken', 'unexpected end of file'],
  ['/unknown', 'the file could not be fetched (sent in an unknown encoding)'],
  ['/large', 'the file is too large'],
  ['/whole', 'a file'],
  ['/part', 'the file could not be fetched (the host sent a part of it)'],
  ['/rest', 'the file could not be fetched (the host sent a part of it)'],
  ['/203', 'a file'],
  ['/hops/5', 'a file'],
  ['/hops/6', 'the file could not be fetched (redirected too often or to nowhere)'],
  ['/accept', ACCEPT.page],
])('reads %s: %s', async (path, expected) => {
  expect(await here(path)).toBe(expected);
});

test.each([
  ['/plain', 'report.pdf'],
  ['/quoted', 'a "b".pdf'],
  ['/both', 'relatório.pdf'],
  ['/utf8', 'relatório.pdf'],
  ['/percent', 'relatório.pdf'],
  ['/hostile', 'afdp.exe'],
  ['/dir/path%20name.pdf', 'path name.pdf'],
  ['/malformed.pdf', 'a b'],
  ['/100%.pdf', '100%.pdf'],
  ['/', null],
])('the name of %s is %s', async (path, expected) => {
  const url = `http://127.0.0.1:${port}${path}`;
  const { body, name } = await fetcherOf(local, 1).fetch(url, 1_000, AbortSignal.timeout(600_000));
  body.on('error', () => undefined).destroy();
  expect(name).toBe(expected);
});
