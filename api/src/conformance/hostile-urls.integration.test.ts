import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Resolver } from 'node:dns/promises';
import { startTestDns, type TestDns } from '@gwk/test/support/dns';
import { FORBIDDEN, HOSTILE, TREACHEROUS } from '@gwk/test/support/hostile/hostile-urls';
import type { Agent } from 'undici';
import { openApi } from '@gwk/test/support/api/open-api';
import { Fetcher } from '../media/prepare/fetcher.js';
import { AddressGuard, dnsResolve, guardedAgent } from '../platform/address-guard/guard.js';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

/**
 * URLs that lead into the private network, as webhook endpoints at their registration and as media URLs that the worker
 * fetches. A server on every address of this machine counts connections. Webhook calls are tested in
 * platform/address-guard/guard.integration.test.ts.
 */
let connections = 0;
let server: Server;
let port: string;
let dns: TestDns;
const sockets = new Set<Socket>();

beforeAll(async () => {
  server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx');
  });
  server.listen(0, '::');
  await once(server, 'listening');
  port = String((server.address() as AddressInfo).port);
  dns = await startTestDns((name, type) => {
    const row = TREACHEROUS.find(([, treacherous]) => treacherous === name);
    if (row) return type === 'A' ? row[2] : row[3];
    return type === 'A' ? ['127.0.0.1'] : [];
  });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  await dns.stop();
});
beforeEach(() => {
  connections = 0;
});

const at = (url: string) => url.replaceAll('PORT', port);

/** Whether a URL parser reads this as the address that acts as the public server of these tests. */
function isPublicServer(url: string): boolean {
  const read = url.replace('PORT', '9');
  return URL.canParse(read) && new URL(read).href.startsWith('http://127.0.0.1:9/');
}
/** Whether the URL is absolute and can be sent in a Location header. */
const isLocation = (url: string): boolean => url !== '' && !/[^\x20-\x7e]/.test(url) && /^[a-z]+:/.test(url);

describe('a webhook endpoint', () => {
  let api: TestApi;
  let client: ApiClient;
  beforeAll(async () => {
    api = await openApi({ settings: { GWK_API_FORBIDDEN_RANGES: FORBIDDEN.join(',') } });
    client = await api.clientOf(await api.account());
  });
  afterAll(() => api.stop());

  // guard.integration.test.ts checks every row. This takes one row of each finding, and the empty URL.
  const isFirst = (finding: string, place: number) =>
    HOSTILE.findIndex((row) => row[2] === finding) === place;
  const rows = HOSTILE.filter(([, url, finding], place) => url === '' || isFirst(finding, place));
  test.each(rows)('refuses %s without a connection', async (_sentence, url) => {
    const { status, body } = await client.call('POST', '/v1/webhook-endpoints', { body: { url: at(url) } });
    // An empty string and NUL fail the schema.
    const code = url === '' || url.includes('\u0000') ? 'validation-error' : 'invalid-webhook-url';
    expect([status, body.type]).toEqual([422, `https://docs.example.org/problems/${code}`]);
    expect(connections).toBe(0);
  });
});

describe('media by URL', () => {
  let agent: Agent;
  let fetcher: Fetcher;
  let redirecting: HttpServer;
  let from: string;
  /** A fetcher with the rules of the worker. `loopback` admits the redirecting server as a public one. */
  const createFetcher = (loopback: boolean): Fetcher => {
    const guard = new AddressGuard({ loopback, forbiddenRanges: FORBIDDEN, plainHttp: true });
    const resolver = new Resolver();
    resolver.setServers([dns.address]);
    agent = guardedAgent(guard, { resolve: dnsResolve(resolver), connectTimeoutMs: 2_000 });
    return new Fetcher({ guard, dispatcher: agent, userAgent: 'test' });
  };
  const fetchResult = (url: string): Promise<string> =>
    fetcher.fetch(url, 1_000, AbortSignal.timeout(120_000)).then(
      () => 'fetched',
      (error: Error) => error.name,
    );

  beforeAll(async () => {
    redirecting = createHttpServer((req, res) => {
      const to = Buffer.from(req.url!.slice(1), 'base64url').toString('latin1');
      res.writeHead(302, { Location: to, Connection: 'close' }).end();
    }).listen(0, '127.0.0.1');
    await once(redirecting, 'listening');
    from = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    redirecting.closeAllConnections();
    await new Promise((resolve) => redirecting.close(resolve));
  });
  afterEach(() => agent.destroy());

  // Media URLs may use plain HTTP, so every row is repeated with it.
  const plain = HOSTILE.filter(([, url]) => url.startsWith('https://')).map(
    ([sentence, url]): [string, string] => [`${sentence}, by plain HTTP`, url.replace('https:', 'http:')],
  );
  const named = TREACHEROUS.flatMap(([sentence, name]): [string, string][] => [
    [`a public name that resolves to ${sentence}`, `https://${name}:PORT/`],
    [`a public name that resolves to ${sentence}, by plain HTTP`, `http://${name}:PORT/`],
  ]);
  const rows: [string, string][] = [
    ...HOSTILE.map(([sentence, url]): [string, string] => [sentence, url]),
    ...plain,
    ...named,
  ];

  test.each(rows)('does not fetch %s', async (_sentence, url) => {
    fetcher = createFetcher(false);
    expect(await fetchResult(at(url))).toBe('MediaUnavailable');
    expect(connections).toBe(0);
  });

  test.each(rows.filter(([, url]) => !isPublicServer(url) && isLocation(url)))(
    'does not follow a redirect to %s',
    async (_sentence, url) => {
      fetcher = createFetcher(true);
      const location = Buffer.from(at(url), 'latin1').toString('base64url');
      expect(await fetchResult(`${from}/${location}`)).toBe('MediaUnavailable');
      expect(connections).toBe(0);
    },
  );
});
