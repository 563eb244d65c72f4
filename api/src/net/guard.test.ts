import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Resolver } from 'node:dns/promises';
import { createServer as createHttpServer } from 'node:http';
import { once } from 'node:events';
import { startTestDns, type DnsAnswer, type TestDns } from '@gwk/test/harness/dns';
import { request, type Agent } from 'undici';
import {
  AddressGuard,
  checkWebhookUrl,
  dnsResolve,
  guardedAgent,
  type Resolve,
  type UrlFinding,
} from './guard.js';

/** PORT stands for the port of a server on this machine that notices every connection. */
const HOSTILE: [sentence: string, url: string, finding: UrlFinding][] = [
  ['plain HTTP to a public name', 'http://hooks.example.org:PORT/', 'not-https'],
  ['plain HTTP to loopback', 'http://127.0.0.1:PORT/', 'not-https'],
  ['another protocol', 'ftp://hooks.example.org/', 'not-https'],
  ['a file', 'file:///etc/passwd', 'not-https'],
  ['gopher', 'gopher://127.0.0.1:PORT/_GET', 'not-https'],
  ['data', 'data:text/plain,x', 'not-https'],
  ['WebSocket', 'wss://hooks.example.org/', 'not-https'],
  ['https without slashes', 'https:127.0.0.1:PORT/', 'not-https'],
  ['https with one slash', 'https:/127.0.0.1:PORT/', 'not-https'],
  ['https with three slashes', 'https:///127.0.0.1:PORT/', 'not-https'],
  ['no URL at all', 'hooks.example.org', 'not-a-url'],
  ['nothing', '', 'not-a-url'],
  ['backslashes', 'https:\\\\127.0.0.1:PORT\\', 'not-a-url'],
  ['a backslash before an at sign', 'https://127.0.0.1:PORT\\@hooks.example.org/', 'not-a-url'],
  ['a tab within the name', 'https://local\thost:PORT/', 'not-a-url'],
  ['a line break within the name', 'https://local\nhost:PORT/', 'not-a-url'],
  ['a leading space', ' https://localhost:PORT/', 'not-a-url'],
  ['a header smuggled into the path', 'https://hooks.example.org:PORT/ HTTP/1.1\r\nHost: x', 'not-a-url'],
  ['a NUL', 'https://localhost:PORT/\u0000', 'not-a-url'],
  ['a number that is no address', 'https://256.256.256.256:PORT/', 'not-a-url'],
  ['an address with a zone', 'https://[fe80::1%25lo]:PORT/', 'not-a-url'],
  ['a port that is none', 'https://hooks.example.org:99999/', 'not-a-url'],
  ['port 0', 'https://hooks.example.org:0/', 'bad-port'],
  ['a user', 'https://user@hooks.example.org:PORT/', 'user-info'],
  ['a user and a password', 'https://user:pw@hooks.example.org:PORT/', 'user-info'],
  ['an empty user', 'https://@hooks.example.org:PORT/', 'user-info'],
  ['a public name as user of loopback', 'https://hooks.example.org@127.0.0.1:PORT/', 'user-info'],
  ['localhost', 'https://localhost:PORT/', 'name-not-public'],
  ['localhost with a dot', 'https://localhost.:PORT/', 'name-not-public'],
  ['localhost in capitals', 'https://LOCALHOST:PORT/', 'name-not-public'],
  ['localhost in full-width letters', 'https://ｌｏｃａｌｈｏｓｔ:PORT/', 'name-not-public'],
  ['localhost in percent signs', 'https://%6c%6f%63%61%6c%68%6f%73%74:PORT/', 'name-not-public'],
  ['a name below localhost', 'https://hooks.localhost:PORT/', 'name-not-public'],
  ['localhost.localdomain', 'https://localhost.localdomain:PORT/', 'name-not-public'],
  ['a single label', 'https://postgres:PORT/', 'name-not-public'],
  ['a service of the cluster', 'https://api.default.svc:PORT/', 'name-not-public'],
  ['a service of the cluster in full', 'https://api.default.svc.cluster.local:PORT/', 'name-not-public'],
  ["a cloud's metadata by name", 'https://metadata.google.internal:PORT/', 'name-not-public'],
  ['a printer', 'https://printer.local:PORT/', 'name-not-public'],
  ['a router', 'https://router.lan:PORT/', 'name-not-public'],
  ['a host at home', 'https://nas.home.arpa:PORT/', 'name-not-public'],
  ['a reverse name', 'https://1.0.0.127.in-addr.arpa:PORT/', 'name-not-public'],
  ['a test name', 'https://hooks.test:PORT/', 'name-not-public'],
  ['an invalid name', 'https://hooks.invalid:PORT/', 'name-not-public'],
  ['an onion', 'https://abcdef.onion:PORT/', 'name-not-public'],
  ['a corporate name', 'https://intra.corp:PORT/', 'name-not-public'],
  ['a public name with a dot at its end', 'https://hooks.example.org.:PORT/', 'name-not-public'],
  ['an empty label', 'https://hooks..example.org:PORT/', 'name-not-public'],
  ['a label that begins with a hyphen', 'https://-x.example.org:PORT/', 'name-not-public'],
  ['a label with a star', 'https://*.example.org:PORT/', 'name-not-public'],
  ['loopback', 'https://127.0.0.1:PORT/', 'address-not-public'],
  ['loopback with a dot', 'https://127.0.0.1.:PORT/', 'address-not-public'],
  ['another loopback', 'https://127.9.9.9:PORT/', 'address-not-public'],
  ['loopback as a number', 'https://2130706433:PORT/', 'address-not-public'],
  ['loopback in hex', 'https://0x7f000001:PORT/', 'address-not-public'],
  ['loopback in octal', 'https://0177.0.0.01:PORT/', 'address-not-public'],
  ['loopback in two parts', 'https://127.1:PORT/', 'address-not-public'],
  ['loopback in circled digits', 'https://①②⑦.⓪.⓪.①:PORT/', 'address-not-public'],
  ['zero', 'https://0:PORT/', 'address-not-public'],
  ['0.0.0.0', 'https://0.0.0.0:PORT/', 'address-not-public'],
  ['10/8', 'https://10.0.0.1:PORT/', 'address-not-public'],
  ['172.16/12', 'https://172.31.255.255:PORT/', 'address-not-public'],
  ['192.168/16', 'https://192.168.1.1:PORT/', 'address-not-public'],
  ['carrier-grade NAT', 'https://100.100.100.200:PORT/', 'address-not-public'],
  ["a cloud's metadata", 'https://169.254.169.254:PORT/latest/meta-data/', 'address-not-public'],
  ["Azure's host agent", 'https://168.63.129.16:PORT/', 'address-not-public'],
  ['benchmarking', 'https://198.19.0.1:PORT/', 'address-not-public'],
  ['documentation', 'https://203.0.113.7:PORT/', 'address-not-public'],
  ['IETF protocols', 'https://192.0.0.192:PORT/', 'address-not-public'],
  ['a 6to4 relay', 'https://192.88.99.1:PORT/', 'address-not-public'],
  ['multicast', 'https://224.0.0.251:PORT/', 'address-not-public'],
  ['reserved', 'https://240.0.0.1:PORT/', 'address-not-public'],
  ['broadcast', 'https://255.255.255.255:PORT/', 'address-not-public'],
  ['IPv6 loopback', 'https://[::1]:PORT/', 'address-not-public'],
  ['IPv6 unspecified', 'https://[::]:PORT/', 'address-not-public'],
  ['IPv4-mapped loopback', 'https://[::ffff:127.0.0.1]:PORT/', 'address-not-public'],
  ['IPv4-mapped loopback in hex', 'https://[::ffff:7f00:1]:PORT/', 'address-not-public'],
  ['IPv4-mapped, a public one', 'https://[::ffff:8.8.8.8]:PORT/', 'address-not-public'],
  ['IPv4-compatible loopback', 'https://[::127.0.0.1]:PORT/', 'address-not-public'],
  ['IPv4-translated loopback', 'https://[::ffff:0:127.0.0.1]:PORT/', 'address-not-public'],
  ['NAT64 of loopback', 'https://[64:ff9b::127.0.0.1]:PORT/', 'address-not-public'],
  ['local NAT64', 'https://[64:ff9b:1::a00:1]:PORT/', 'address-not-public'],
  ['6to4 of loopback', 'https://[2002:7f00:1::]:PORT/', 'address-not-public'],
  ['Teredo', 'https://[2001::1]:PORT/', 'address-not-public'],
  ['IPv6 benchmarking', 'https://[2001:2::1]:PORT/', 'address-not-public'],
  ['ORCHID', 'https://[2001:20::1]:PORT/', 'address-not-public'],
  ['IPv6 documentation', 'https://[2001:db8::1]:PORT/', 'address-not-public'],
  ['new IPv6 documentation', 'https://[3fff::1]:PORT/', 'address-not-public'],
  ['discard only', 'https://[100::1]:PORT/', 'address-not-public'],
  ['unique local', 'https://[fd00:ec2::254]:PORT/', 'address-not-public'],
  ['link-local', 'https://[fe80::1]:PORT/', 'address-not-public'],
  ['site-local', 'https://[fec0::1]:PORT/', 'address-not-public'],
  ['IPv6 multicast', 'https://[ff02::1]:PORT/', 'address-not-public'],
  ['segment routing', 'https://[5f00::1]:PORT/', 'address-not-public'],
  ["a range of the cluster's own", 'https://34.118.224.1:PORT/', 'address-not-public'],
  ["an IPv6 range of the cluster's own", 'https://[2600:1900::1]:PORT/', 'address-not-public'],
];

/** Names that look public and lead inside; the DNS server answers this. */
const TREACHEROUS: [sentence: string, name: string, a: string[], aaaa: string[]][] = [
  ['loopback', 'a1.hooks-example.org', ['127.0.0.1'], []],
  ['IPv6 loopback', 'a2.hooks-example.org', [], ['::1']],
  ['a public address and loopback', 'a3.hooks-example.org', ['93.184.215.14', '127.0.0.1'], []],
  ['a public address and IPv6 loopback', 'a4.hooks-example.org', ['93.184.215.14'], ['::1']],
  ['IPv4-mapped loopback', 'a5.hooks-example.org', [], ['::ffff:127.0.0.1']],
  ['0.0.0.0', 'a6.hooks-example.org', ['0.0.0.0'], []],
  ['IPv6 unspecified', 'a7.hooks-example.org', [], ['::']],
  ["a cloud's metadata", 'a8.hooks-example.org', ['169.254.169.254'], []],
  ['NAT64 of loopback', 'a9.hooks-example.org', [], ['64:ff9b::7f00:1']],
  ['nowhere', 'a10.hooks-example.org', [], []],
];

const ALLOWED: [sentence: string, url: string][] = [
  ['a public name', 'https://hooks.example.org/'],
  ['a name with a port, a path and a query', 'https://hooks.example.com:8443/a/b?c=d#e'],
  ['a name of two labels', 'https://example.com/hook'],
  ['a name with an underscore', 'https://my_hooks.example.com/'],
  ['an international name', 'https://exämple.com/'],
  ['capitals', 'HTTPS://Hooks.Example.org/'],
  ['a public IPv4 address', 'https://93.184.215.14/'],
  ['a public IPv6 address', 'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/'],
  ['the neighbours of private ranges', 'https://172.32.0.1/'],
  ['an at sign in the path', 'https://hooks.example.org/@me'],
];

const FORBIDDEN = ['34.118.224.0/20', '2600:1900::/28'];
const strict = new AddressGuard({ loopback: false, forbiddenRanges: FORBIDDEN });
const onOneMachine = new AddressGuard({ loopback: true, forbiddenRanges: FORBIDDEN });

let server: Server;
let port: string;
let noticed = 0;
let dns: TestDns;
const sockets = new Set<Socket>();

const answer: DnsAnswer = (name, type) => {
  const row = TREACHEROUS.find(([, treacherous]) => treacherous === name);
  if (row) return type === 'A' ? row[2] : row[3];
  return type === 'A' ? ['127.0.0.1'] : [];
};

beforeAll(async () => {
  server = createServer((socket) => {
    noticed += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  });
  server.listen(0, '::'); // every address of this machine, IPv4 and IPv6
  await once(server, 'listening');
  port = String((server.address() as AddressInfo).port);
  dns = await startTestDns(answer);
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  await dns.stop();
});

beforeEach(() => {
  noticed = 0;
});

function resolverAt({ address }: TestDns): Resolver {
  const resolver = new Resolver();
  resolver.setServers([address]);
  return resolver;
}

const at = (url: string) => url.replaceAll('PORT', port);

/** What happens when a URL is called: null, or the code of the error. */
async function call(agent: Agent, url: string): Promise<string | null> {
  try {
    const response = await request(url, { dispatcher: agent, signal: AbortSignal.timeout(2_000) });
    await response.body.dump();
    return null;
  } catch (error) {
    const { code, name } = error as { code?: string; name: string };
    return code ?? name;
  }
}

/** Those of the table that lead to the server of this test; names do where all names resolve to 127.0.0.1. */
const LEADS_HERE = /127|7f00:1\]|LOCALHOST|localhost|\[::1?\]|2130706433|0x7f|①|https:\/\/0/;
const NEVER_ROUTED = /^https:\/\/\[(64:ff9b|2002|::127|::ffff:0:)/;

function connectWithoutGuard(url: string): Promise<void> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(port),
      lookup: (_name, options, done) =>
        options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
    });
    socket.on('error', () => undefined).on('close', () => resolve());
    socket.resume();
  });
}

describe('at registration', () => {
  test.each(HOSTILE)('%s is refused', (_sentence, url, finding) => {
    expect(strict.checkUrl(at(url))).toEqual({ ok: false, finding });
  });

  test.each(HOSTILE.filter(([, url]) => url !== 'http://127.0.0.1:PORT/'))(
    '%s is refused on one machine too',
    (_sentence, url, finding) => {
      expect(onOneMachine.checkUrl(at(url))).toEqual({ ok: false, finding });
    },
  );

  test.each([
    'http://127.0.0.1/hook',
    'http://127.0.0.1:0/hook',
    'http://127.0.0.1:099/hook',
    'http://127.0.0.1:PORT@hooks.example.org/',
    'http://user@127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://127.1:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f.0.0.1:PORT/',
    'http://127.0.0.1.:PORT/',
    'http://127.0.0.2:PORT/',
    'http://0.0.0.0:PORT/',
    'http:127.0.0.1:PORT/',
    'http://127.0.0.1.nip.io:PORT/',
    'https://127.0.0.1:PORT/',
  ])('on one machine %s is refused: only http://127.0.0.1:PORT is meant', (url) => {
    expect(onOneMachine.checkUrl(at(url)).ok).toBe(false);
  });

  test.each(['http://127.0.0.1:PORT', 'http://127.0.0.1:PORT/', 'http://127.0.0.1:80/a?b=c'])(
    'on one machine %s is allowed, elsewhere not',
    (url) => {
      expect(onOneMachine.checkUrl(at(url)).ok).toBe(true);
      expect(strict.checkUrl(at(url)).ok).toBe(false);
    },
  );

  test.each(ALLOWED)('%s is allowed', (_sentence, url) => {
    expect(checkWebhookUrl(url, { loopback: false, forbiddenRanges: FORBIDDEN }).ok).toBe(true);
    expect(checkWebhookUrl(url, { loopback: true, forbiddenRanges: FORBIDDEN }).ok).toBe(true);
  });

  test('a range that is none stops whoever configures it', () => {
    expect(() => new AddressGuard({ loopback: false, forbiddenRanges: ['10.0.0.0'] })).toThrow(
      '10.0.0.0 is not an address range',
    );
  });
});

describe('the edges of ranges', () => {
  test.each([
    ['198.17.255.255', true],
    ['198.18.0.0', false],
    ['198.19.255.255', false],
    ['198.20.0.0', true],
    ['100.63.255.255', true],
    ['100.64.0.0', false],
    ['100.127.255.255', false],
    ['100.128.0.0', true],
    ['172.15.255.255', true],
    ['172.16.0.0', false],
    ['223.255.255.255', true],
    ['224.0.0.0', false],
    ['1fff:ffff::1', false],
    ['2001:1ff:ffff::1', false],
    ['2001:200::1', true],
    ['2003::1', true],
    ['2002:ffff::1', false],
    ['3ffe::1', true],
    ['3fff:fff:ffff::1', false],
    ['4000::1', false],
    ['2606:4700::1%eth0', false],
    ['example.com', false],
  ])('%s: public %s', (address, expected) => {
    expect(strict.judgeAddresses([address]) === null).toBe(expected);
  });
});

describe('at each call', () => {
  test('a client without the guard would have been noticed', async () => {
    const targets = HOSTILE.filter(
      ([, url, finding]) =>
        (LEADS_HERE.test(url) || finding === 'name-not-public') && !NEVER_ROUTED.test(url),
    )
      .map(([, url]) => at(url))
      .filter((url) => URL.canParse(url));
    await Promise.all(targets.map(connectWithoutGuard));
    expect(targets.length).toBeGreaterThanOrEqual(45);
    expect(noticed).toBe(targets.length);
  });

  test.each(HOSTILE)('%s is not connected to', async (_sentence, url) => {
    const agent = guardedAgent(strict, { resolve: dnsResolve(resolverAt(dns)) });
    expect(await call(agent, at(url))).not.toBeNull();
    expect(noticed).toBe(0);
    await agent.destroy();
  });

  test.each(TREACHEROUS)('a public name that leads to %s is not connected to', async (_sentence, name) => {
    for (const guard of [strict, onOneMachine]) {
      const agent = guardedAgent(guard, { resolve: dnsResolve(resolverAt(dns)) });
      expect(await call(agent, `https://${name}:${port}/`)).not.toBeNull();
      expect(noticed).toBe(0);
      await agent.destroy();
    }
    expect(dns.asked).toContain(`A ${name}`);
  });

  test('on one machine http://127.0.0.1:PORT is called, elsewhere not', async () => {
    const [open, closed] = [guardedAgent(onOneMachine), guardedAgent(strict)];
    expect(await call(open, at('http://127.0.0.1:PORT/'))).toBeNull();
    expect(await call(closed, at('http://127.0.0.1:PORT/'))).toBe('GWK_FORBIDDEN_ADDRESS');
    expect(noticed).toBe(1);
    await Promise.all([open.destroy(), closed.destroy()]);
  });

  test('a name that changes its answer after it was judged is called at the judged address', async () => {
    const rebinding = await startTestDns((_name, type, nth) => {
      if (type !== 'A') return [];
      return nth === 0 ? ['127.0.0.2'] : ['127.0.0.1'];
    });
    const seen: string[] = [];
    const target = createHttpServer((req, res) => {
      seen.push(req.socket.localAddress ?? '');
      res.setHeader('connection', 'close').end();
    }).listen(0, '0.0.0.0');
    await once(target, 'listening');
    const { port: targetPort } = target.address() as AddressInfo;
    // 127.0.0.2 plays the public address and 127.0.0.1 the inside; otherwise the guard is the real one.
    const judge = {
      judgeTarget: () => null,
      judgeAddresses: (addresses: readonly string[]) =>
        strict.judgeAddresses(addresses.filter((address) => address !== '127.0.0.2')),
    };
    const agent = guardedAgent(judge, { resolve: dnsResolve(resolverAt(rebinding)) });
    expect(await call(agent, `http://rebinding.example.org:${targetPort}/`)).toBeNull();
    expect(rebinding.asked.filter((question) => question.startsWith('A '))).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await call(agent, `http://rebinding.example.org:${targetPort}/`)).toBe('GWK_FORBIDDEN_ADDRESS');
    expect(seen).toEqual(['127.0.0.2']);
    await agent.destroy();
    target.closeAllConnections();
    await new Promise((resolve) => target.close(resolve));
    await rebinding.stop();
  });

  test('a redirect is an answer like another: nothing follows it', async () => {
    const redirecting = createHttpServer((_req, res) => {
      res.writeHead(302, { Location: at('http://127.0.0.1:PORT/inside') }).end();
    }).listen(0, '127.0.0.1');
    await once(redirecting, 'listening');
    const { port: from } = redirecting.address() as AddressInfo;
    const agent = guardedAgent(onOneMachine);
    const response = await request(`http://127.0.0.1:${from}/`, { dispatcher: agent });
    await response.body.dump();
    expect(response.statusCode).toBe(302);
    expect(noticed).toBe(0);
    await agent.destroy();
    await new Promise((resolve) => redirecting.close(resolve));
  });

  test('the environment cannot send calls through a proxy', async () => {
    const before = { ...process.env };
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY']) {
      process.env[name] = at('http://127.0.0.1:PORT');
    }
    process.env['NODE_USE_ENV_PROXY'] = '1';
    const agent = guardedAgent(strict, { resolve: async () => ['127.0.0.1'] });
    expect(await call(agent, 'https://hooks.example.org/')).toBe('GWK_FORBIDDEN_ADDRESS');
    expect(noticed).toBe(0);
    await agent.destroy();
    process.env = before;
  });

  test('a name server that never answers does not hold up the others', async () => {
    const silent = await startTestDns((name, type) =>
      name.startsWith('dead') || type !== 'A' ? null : ['10.0.0.1'],
    );
    const resolver = resolverAt(silent);
    const real = dnsResolve(resolver);
    const resolve: Resolve = (name) => (name.startsWith('dead') ? real(name) : Promise.resolve(['10.0.0.1']));
    const agent = guardedAgent(strict, { resolve });
    const dead = Array.from({ length: 20 }, (_, i) => call(agent, `https://dead${i}.example.org/`));
    const start = performance.now();
    expect(await call(agent, 'https://quick.example.org/')).toBe('GWK_FORBIDDEN_ADDRESS');
    expect(performance.now() - start).toBeLessThan(500);
    await agent.destroy();
    resolver.cancel();
    await Promise.allSettled(dead);
    await silent.stop();
  });
});
