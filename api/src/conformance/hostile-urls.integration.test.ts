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
 * URLs that lead inside, where the service takes URLs from strangers: destinations of webhooks at registration (their
 * calls are in net/guard.integration.test.ts), and media by URL as the worker fetches it. A server on every address of this
 * machine would notice a connection.
 */
let noticed = 0;
let server: Server;
let port: string;
let dns: TestDns;
const sockets = new Set<Socket>();

beforeAll(async () => {
  server = createServer((socket) => {
    noticed += 1;
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
  noticed = 0;
});

const at = (url: string) => url.replaceAll('PORT', port);

/** The form that plays the public server of these tests, also where a URL parser arrives at it. */
function isThePublicOne(url: string): boolean {
  const read = url.replace('PORT', '9');
  return URL.canParse(read) && new URL(read).href.startsWith('http://127.0.0.1:9/');
}
/** What a server can say in a header at all, and what does not name the server that redirects. */
const isHeader = (url: string): boolean => url !== '' && !/[^\x20-\x7e]/.test(url) && /^[a-z]+:/.test(url);

describe('a destination of webhooks', () => {
  let api: TestApi;
  let client: ApiClient;
  beforeAll(async () => {
    api = await openApi({ settings: { GWK_API_FORBIDDEN_RANGES: FORBIDDEN.join(',') } });
    client = await api.clientOf(await api.account());
  });
  afterAll(() => api.stop());

  // Each row is judged in net/guard.integration.test.ts; here is one of each finding, and nothing at all.
  const isFirst = (finding: string, place: number) =>
    HOSTILE.findIndex((row) => row[2] === finding) === place;
  const rows = HOSTILE.filter(([, url, finding], place) => url === '' || isFirst(finding, place));
  test.each(rows)('%s is refused, and nobody is called', async (_sentence, url) => {
    const { status, body } = await client.call('POST', '/v1/webhook-endpoints', { body: { url: at(url) } });
    // Without a character, or with NUL, it is not even a text.
    const code = url === '' || url.includes('\u0000') ? 'validation-error' : 'invalid-webhook-url';
    expect([status, body.type]).toEqual([422, `https://docs.example.org/problems/${code}`]);
    expect(noticed).toBe(0);
  });
});

describe('media by URL', () => {
  let agent: Agent;
  let fetcher: Fetcher;
  let redirecting: HttpServer;
  let from: string;
  /** The worker's own rules; `loopback` lets the server that redirects play a public one. */
  const fetcherWith = (loopback: boolean): Fetcher => {
    const guard = new AddressGuard({ loopback, forbiddenRanges: FORBIDDEN, plainHttp: true });
    const resolver = new Resolver();
    resolver.setServers([dns.address]);
    agent = guardedAgent(guard, { resolve: dnsResolve(resolver), connectTimeoutMs: 2_000 });
    return new Fetcher({ guard, dispatcher: agent, userAgent: 'test' });
  };
  const fetched = (url: string): Promise<string> =>
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

  // Media may come by plain HTTP: every row leads inside that way too.
  const plain = HOSTILE.filter(([, url]) => url.startsWith('https://')).map(
    ([sentence, url]): [string, string] => [`${sentence}, by plain HTTP`, url.replace('https:', 'http:')],
  );
  const named = TREACHEROUS.flatMap(([sentence, name]): [string, string][] => [
    [`a public name that leads to ${sentence}`, `https://${name}:PORT/`],
    [`a public name that leads to ${sentence}, by plain HTTP`, `http://${name}:PORT/`],
  ]);
  const rows: [string, string][] = [
    ...HOSTILE.map(([sentence, url]): [string, string] => [sentence, url]),
    ...plain,
    ...named,
  ];

  test.each(rows)('%s is not fetched', async (_sentence, url) => {
    fetcher = fetcherWith(false);
    expect(await fetched(at(url))).toBe('Unavailable');
    expect(noticed).toBe(0);
  });

  test.each(rows.filter(([, url]) => !isThePublicOne(url) && isHeader(url)))(
    'a redirect to %s is not followed',
    async (_sentence, url) => {
      fetcher = fetcherWith(true);
      const way = Buffer.from(at(url), 'latin1').toString('base64url');
      expect(await fetched(`${from}/${way}`)).toBe('Unavailable');
      expect(noticed).toBe(0);
    },
  );
});
