import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Resolver } from 'node:dns/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import {
  ALLOWED,
  FORBIDDEN,
  HOSTILE,
  LEADS_HERE,
  NEVER_ROUTED,
  TREACHEROUS,
} from '@gwk/test/support/hostile/hostile-urls';
import { TEST_CERTIFICATE } from '@gwk/test/support/certificate';
import { once } from 'node:events';
import { countConnections } from '@gwk/test/support/api/slow-readers';
import { until } from '@gwk/test/support/wait';
import { startTestDns, type DnsAnswer, type TestDns } from '@gwk/test/support/dns';
import { request, type Agent } from 'undici';
import { AddressGuard, checkWebhookUrl, dnsResolve, guardedAgent, type Resolve } from './guard.js';

const strict = new AddressGuard({ loopback: false, forbiddenRanges: FORBIDDEN });
const onOneMachine = new AddressGuard({ loopback: true, forbiddenRanges: FORBIDDEN });

let server: Server;
let port: string;
let accepted = 0;
let dns: TestDns;
const sockets = new Set<Socket>();

const answer: DnsAnswer = (name, type) => {
  const row = TREACHEROUS.find(([, treacherous]) => treacherous === name);
  if (row) return type === 'A' ? row[2] : row[3];
  return type === 'A' ? ['127.0.0.1'] : [];
};

beforeAll(async () => {
  server = createServer((socket) => {
    accepted += 1;
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
  accepted = 0;
});

function resolverAt({ address }: TestDns): Resolver {
  const resolver = new Resolver();
  resolver.setServers([address]);
  return resolver;
}

const at = (url: string) => url.replaceAll('PORT', port);

/** Calls a URL and returns null, or the code of the error. */
async function call(agent: Agent, url: string): Promise<string | null> {
  try {
    const response = await request(url, { dispatcher: agent, signal: AbortSignal.timeout(120_000) });
    await response.body.dump();
    return null;
  } catch (error) {
    const { code, name } = error as { code?: string; name: string };
    return code ?? name;
  }
}

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
  test.each(HOSTILE)('refuses %s', (_label, url, finding) => {
    expect(strict.checkUrl(at(url))).toEqual({ ok: false, finding });
  });

  test.each(HOSTILE.filter(([, url]) => url !== 'http://127.0.0.1:PORT/'))(
    'refuses %s also on one machine',
    (_label, url, finding) => {
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
  ])('on one machine refuses %s, because only http://127.0.0.1:PORT is allowed', (url) => {
    expect(onOneMachine.checkUrl(at(url)).ok).toBe(false);
  });

  test.each([
    ['https://hooks.example.org./a?b=c.', 'https://hooks.example.org/a?b=c.'],
    ['https://hooks.example.org.:8443', 'https://hooks.example.org:8443/'],
  ])('allows %s, without the dot', (url, href) => {
    const check = strict.checkUrl(url);
    expect(check.ok && check.url.href).toBe(href);
  });

  test.each(['https://a.internal./', 'https://localhost./', 'https://hooks.example.org../'])(
    'refuses %s also with its dot',
    (url) => expect(strict.checkUrl(url)).toEqual({ ok: false, finding: 'name-not-public' }),
  );

  test.each(['http://127.0.0.1:PORT', 'http://127.0.0.1:PORT/', 'http://127.0.0.1:80/a?b=c'])(
    'allows %s on one machine only',
    (url) => {
      expect(onOneMachine.checkUrl(at(url)).ok).toBe(true);
      expect(strict.checkUrl(at(url)).ok).toBe(false);
    },
  );

  test.each(ALLOWED)('allows %s', (_label, url) => {
    expect(checkWebhookUrl(url, { loopback: false, forbiddenRanges: FORBIDDEN }).ok).toBe(true);
    expect(checkWebhookUrl(url, { loopback: true, forbiddenRanges: FORBIDDEN }).ok).toBe(true);
  });

  test('a malformed range in the configuration is an error', () => {
    expect(() => new AddressGuard({ loopback: false, forbiddenRanges: ['10.0.0.0'] })).toThrow(
      '10.0.0.0 is not an address range',
    );
  });
});

describe('the bounds of the ranges', () => {
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
  test('a client without the guard would connect to the listener', async () => {
    const targets = HOSTILE.filter(
      ([, url, finding]) =>
        (LEADS_HERE.test(url) || finding === 'name-not-public') && !NEVER_ROUTED.test(url),
    )
      .map(([, url]) => at(url))
      .filter((url) => URL.canParse(url));
    await Promise.all(targets.map(connectWithoutGuard));
    expect(targets.length).toBeGreaterThanOrEqual(45);
    expect(accepted).toBe(targets.length);
  });

  test.each(HOSTILE)('does not connect to %s', async (_label, url) => {
    const agent = guardedAgent(strict, { resolve: dnsResolve(resolverAt(dns)) });
    expect(await call(agent, at(url))).not.toBeNull();
    expect(accepted).toBe(0);
    await agent.destroy();
  });

  test.each(TREACHEROUS)(
    'does not connect through a public name that resolves to %s',
    async (_label, name) => {
      for (const guard of [strict, onOneMachine]) {
        const agent = guardedAgent(guard, { resolve: dnsResolve(resolverAt(dns)) });
        expect(await call(agent, `https://${name}:${port}/`)).not.toBeNull();
        expect(accepted).toBe(0);
        await agent.destroy();
      }
      expect(dns.asked).toContain(`A ${name}`);
    },
  );

  test('calls http://127.0.0.1:PORT on one machine only', async () => {
    const [open, closed] = [guardedAgent(onOneMachine), guardedAgent(strict)];
    expect(await call(open, at('http://127.0.0.1:PORT/'))).toBeNull();
    expect(await call(closed, at('http://127.0.0.1:PORT/'))).toBe('GWK_FORBIDDEN_ADDRESS');
    expect(accepted).toBe(1);
    await Promise.all([open.destroy(), closed.destroy()]);
  });

  test('calls the checked address although DNS answers differently afterwards', async () => {
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
    // 127.0.0.2 plays the public address and 127.0.0.1 the private one. Otherwise this is the real guard.
    const judge = {
      judgeTarget: () => null,
      judgeAddresses: (addresses: readonly string[]) =>
        strict.judgeAddresses(addresses.filter((address) => address !== '127.0.0.2')),
    };
    const agent = guardedAgent(judge, { resolve: dnsResolve(resolverAt(rebinding)) });
    expect(await call(agent, `http://rebinding.example.org:${targetPort}/`)).toBeNull();
    expect(rebinding.asked.filter((question) => question.startsWith('A '))).toHaveLength(1);
    await until(async () => (await countConnections(target)) === 0, { what: 'the connection is closed' });
    expect(await call(agent, `http://rebinding.example.org:${targetPort}/`)).toBe('GWK_FORBIDDEN_ADDRESS');
    expect(seen).toEqual(['127.0.0.2']);
    await agent.destroy();
    target.closeAllConnections();
    await new Promise((resolve) => target.close(resolve));
    await rebinding.stop();
  });

  describe('over TLS', () => {
    // 127.0.0.1 plays the public address. Otherwise this is the real guard.
    const judge = {
      judgeTarget: (protocol: string, name: string) => strict.judgeTarget(protocol, name),
      judgeAddresses: (addresses: readonly string[]) =>
        strict.judgeAddresses(addresses.filter((address) => address !== '127.0.0.1')),
    };
    const seen: string[] = [];
    const target = createTlsServer(TEST_CERTIFICATE, (req, res) => {
      seen.push(`${req.headers.host} ${(req.socket as TLSSocket).servername}`);
      res.end();
    });
    let targetPort: number;
    beforeAll(async () => {
      target.listen(0, '127.0.0.1');
      await once(target, 'listening');
      targetPort = (target.address() as AddressInfo).port;
    });
    afterAll(async () => {
      target.closeAllConnections();
      await new Promise((resolve) => target.close(resolve));
    });
    const callOverTls = async (name: string, ca?: string, hosts?: string[]) => {
      const agent = guardedAgent(judge, {
        resolve: dnsResolve(resolverAt(dns)),
        ...(ca !== undefined && (hosts ? { privateCa: { ca, hosts } } : { ca })),
      });
      const code = await call(agent, `https://${name}:${targetPort}/`);
      await agent.destroy();
      return code;
    };

    test('calls the resolved address with the name as Host and SNI', async () => {
      expect(await callOverTls('hooks.example.org', TEST_CERTIFICATE.cert)).toBeNull();
      expect(seen).toEqual([`hooks.example.org:${targetPort} hooks.example.org`]);
    });

    test.each([
      ['the host', ['hooks.example.org'], null],
      ['a domain of the host', ['other.test', 'example.org'], null],
      ['another host', ['ooks.example.org'], 'DEPTH_ZERO_SELF_SIGNED_CERT'],
      ['no host', [], 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ])('a private authority for %s', async (_, hosts, expected) => {
      expect(await callOverTls('hooks.example.org', TEST_CERTIFICATE.cert, hosts)).toBe(expected);
    });

    test('rejects a certificate for another name', async () => {
      expect(await callOverTls('other.example.org', TEST_CERTIFICATE.cert)).toBe(
        'ERR_TLS_CERT_ALTNAME_INVALID',
      );
    });

    test('rejects an untrusted certificate, whatever the environment sets', async () => {
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
      try {
        expect(await callOverTls('hooks.example.org')).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
      } finally {
        delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      }
    });
  });

  test('does not follow a redirect', async () => {
    const redirecting = createHttpServer((_req, res) => {
      res.writeHead(302, { Location: at('http://127.0.0.1:PORT/inside') }).end();
    }).listen(0, '127.0.0.1');
    await once(redirecting, 'listening');
    const { port: from } = redirecting.address() as AddressInfo;
    const agent = guardedAgent(onOneMachine);
    const response = await request(`http://127.0.0.1:${from}/`, { dispatcher: agent });
    await response.body.dump();
    expect(response.statusCode).toBe(302);
    expect(accepted).toBe(0);
    await agent.destroy();
    await new Promise((resolve) => redirecting.close(resolve));
  });

  test('ignores proxies of the environment', async () => {
    const before = { ...process.env };
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY']) {
      process.env[name] = at('http://127.0.0.1:PORT');
    }
    process.env['NODE_USE_ENV_PROXY'] = '1';
    const agent = guardedAgent(strict, { resolve: async () => ['127.0.0.1'] });
    expect(await call(agent, 'https://hooks.example.org/')).toBe('GWK_FORBIDDEN_ADDRESS');
    expect(accepted).toBe(0);
    await agent.destroy();
    process.env = before;
  });

  test('a name server that never answers does not delay other calls', async () => {
    const silent = await startTestDns((name, type) =>
      name.startsWith('dead') || type !== 'A' ? null : ['10.0.0.1'],
    );
    const resolver = resolverAt(silent);
    const real = dnsResolve(resolver);
    const resolve: Resolve = (name) => (name.startsWith('dead') ? real(name) : Promise.resolve(['10.0.0.1']));
    const agent = guardedAgent(strict, { resolve });
    const ended: string[] = [];
    const callUntilItEnds = async (name: string) => {
      const code = await call(agent, `https://${name}.example.org/`);
      ended.push(name);
      return code;
    };
    const dead = Array.from({ length: 20 }, (_, i) => callUntilItEnds(`dead${i}`));
    expect(await callUntilItEnds('quick')).toBe('GWK_FORBIDDEN_ADDRESS');
    expect(ended).toEqual(['quick']);
    await agent.destroy();
    resolver.cancel();
    await Promise.allSettled(dead);
    await silent.stop();
  });
});
