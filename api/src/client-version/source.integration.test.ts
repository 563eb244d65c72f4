import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseServedVersion, readServedVersion } from './source.js';

const NOW = Date.parse('2026-07-30');
const script = (revision: number) =>
  `"use strict";const a=JSON.parse("{\\"server_revision\\":7,\\"client_revision\\":${revision}}");`;
const GOOD = script(1_044_142_122);

let server: Server;
let other: Server;
let handle: RequestListener;
const open = (listener: RequestListener) =>
  new Promise<Server>((resolve) => {
    const created = createServer(listener);
    created.listen(0, '127.0.0.1', () => resolve(created));
  });
const urlOf = (which: Server) => `http://127.0.0.1:${(which.address() as AddressInfo).port}`;

beforeAll(async () => {
  server = await open((request, response) => handle(request, response));
  other = await open((_, response) => response.end(GOOD));
});
afterAll(() => {
  for (const each of [server, other]) {
    each.closeAllConnections();
    each.close();
  }
});

const read = (timeoutMs?: number) =>
  readServedVersion({
    url: `${urlOf(server)}/sw.js`,
    agents: null,
    now: () => NOW,
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
const answer =
  (status: number, body: string, headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    response.writeHead(status, headers).end(body);

test('reads the revision and sends no body, cookie or referrer', async () => {
  let seen: unknown;
  handle = ({ method, url, headers }, response) => {
    seen = [method, url, Object.keys(headers).sort()];
    response.end(GOOD);
  };
  expect(await read()).toBe('2.3000.1044142122');
  expect(seen).toEqual(['GET', '/sw.js', ['connection', 'host', 'sec-fetch-site', 'user-agent']]);
});

test('follows a redirect to the same origin', async () => {
  handle = ({ url }, response) =>
    url === '/sw.js' ? response.writeHead(302, { location: '/new/sw.js' }).end() : response.end(GOOD);
  expect(await read()).toBe('2.3000.1044142122');
});

test.each<[string, () => RequestListener, string]>([
  ['another origin', () => answer(302, '', { location: `${urlOf(other)}/sw.js` }), 'redirected_elsewhere'],
  ['itself for ever', () => answer(302, '', { location: '/sw.js' }), 'bad_status'],
  ['nowhere', () => answer(302, ''), 'bad_status'],
  ['no URL', () => answer(302, '', { location: 'http://' }), 'unreachable'],
])('a redirect to %s is a fault', async (_, listener, fault) => {
  handle = listener();
  await expect(read()).rejects.toMatchObject({ fault });
});

test.each([
  ['an error', answer(503, GOOD), 'bad_status'],
  ['a page of a captive portal', answer(200, `\n<html>${GOOD}</html>`), 'not_a_script'],
  ['an empty body', answer(200, ''), 'no_revision'],
  ['another format', answer(200, 'client_revision=1044142122'), 'no_revision'],
  ['an older revision', answer(200, script(1_043_857_759)), 'older_than_bundled'],
  ['a revision of the far future', answer(200, script(1_299_999_999)), 'implausibly_new'],
  ['a short revision', answer(200, script(1)), 'malformed'],
  ['a body of 5 MB', answer(200, 'x'.repeat(5_000_000) + GOOD), 'too_large'],
])('%s is a fault', async (_, listener, fault) => {
  handle = listener;
  await expect(read()).rejects.toMatchObject({ fault });
});

test('an endless body ends at the limit of time', async () => {
  handle = (_, response) => void response.write('x');
  await expect(read(50)).rejects.toMatchObject({ fault: 'timed_out' });
});

test('a server that closes the connection is a fault', async () => {
  handle = ({ socket }) => socket.destroy();
  await expect(read()).rejects.toMatchObject({ fault: 'unreachable' });
});

test.each([
  ['{"client_revision":1044142122}', '2.3000.1044142122'],
  ['{\\"client_revision\\":1044142122,', '2.3000.1044142122'],
  ['"client_revision" : 1044142122', '2.3000.1044142122'],
  ['"client_revision":"1044142122"', null],
  ['"client_revision":1044142122.5', '2.3000.1044142122'],
  [`"client_revision":${'9'.repeat(400)}`, null],
])('the script %p states %p', (text, version) => {
  expect(parseServedVersion(text)).toBe(version);
});
