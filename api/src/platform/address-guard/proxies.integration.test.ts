import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { Proxy } from '@gwk/core/proxy/proxy';
import { TEST_CERTIFICATE } from '@gwk/test/support/certificate';
import {
  buildProxyUrl,
  PROXY_CA,
  PROXY_LOGIN,
  startProxy,
  type ProxyKind,
  type TestProxy,
} from '@gwk/test/support/servers/proxies';
import { request } from 'undici';
import { AddressGuard, guardedAgent, readErrorCode, type Resolve } from './guard.js';

const PUBLIC = '93.184.216.34';
const guard = new AddressGuard({ loopback: true, forbiddenRanges: [], plainHttp: true });
const answer = (_: unknown, response: { end: (text: string) => void }) => response.end('answered');
const secure = createServer(TEST_CERTIFICATE, answer);
const plain = createHttpServer(answer);
const portOf = (server: { address: () => unknown }) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  for (const server of [secure, plain]) await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  for (const server of [secure, plain]) {
    server.closeAllConnections();
    server.close();
  }
});

interface Options {
  url: string;
  resolve?: Resolve;
  trustsNames?: boolean;
  noProxy?: string;
}

/** Calls a URL through the guard and the proxy. @returns the answer, or the code of the error */
async function call(
  target: string,
  { url, resolve, trustsNames = false, noProxy }: Options,
): Promise<string> {
  const config = { proxyUrl: () => url, proxyCa: PROXY_CA, noProxy };
  const proxy = Proxy.fromConfig({ ...config, standardProxyUrl: undefined, standardNoProxy: undefined })!;
  const agent = guardedAgent(guard, {
    resolve: resolve ?? (async () => [PUBLIC]),
    ca: TEST_CERTIFICATE.cert,
    proxy: { proxy, trustsNames },
  });
  try {
    return await (await request(target, { dispatcher: agent })).body.text();
  } catch (error) {
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(
      encodeURIComponent(PROXY_LOGIN.password),
    );
    return readErrorCode(error) || String(error);
  } finally {
    await agent.destroy();
  }
}

const noSuchName: Resolve = async () => {
  throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
};

describe.each<ProxyKind>(['http', 'https', 'socks5'])('calls of consumers through a proxy (%s)', (kind) => {
  let proxy: TestProxy;
  beforeAll(async () => void (proxy = await startProxy(kind)));
  afterAll(() => proxy.stop());
  beforeEach(() => void (proxy.opened.length = 0));
  const hooks = () => `https://hooks.example.org:${portOf(secure)}/`;

  test('reach the host by its name, with its own TLS', async () => {
    expect(await call(hooks(), proxy)).toBe('answered');
    expect(proxy.opened).toEqual([`hooks.example.org:${portOf(secure)}`]);
  });

  test('reach plain http too', async () => {
    expect(await call(`http://files.example.org:${portOf(plain)}/`, proxy)).toBe('answered');
  });

  test.each([
    ['a private address', 'https://10.0.0.1/'],
    ['the metadata service', 'http://169.254.169.254/latest/'],
    ['a private name', 'https://kubernetes.default.svc/'],
  ])('are refused before the proxy: %s', async (_, target) => {
    expect(await call(target, { ...proxy, trustsNames: true })).toBe('GWK_FORBIDDEN_ADDRESS');
    expect(proxy.opened).toEqual([]);
  });

  test('are refused if one address of the name is private', async () => {
    const resolve = async () => [PUBLIC, '10.0.0.1'];
    expect(await call(hooks(), { ...proxy, resolve, trustsNames: true })).toBe('GWK_FORBIDDEN_ADDRESS');
    expect(proxy.opened).toEqual([]);
  });

  test('need a name that can be resolved, unless the proxy is trusted with names', async () => {
    expect(await call(hooks(), { ...proxy, resolve: noSuchName })).toBe('ENOTFOUND');
    expect(proxy.opened).toEqual([]);
    expect(await call(hooks(), { ...proxy, resolve: noSuchName, trustsNames: true })).toBe('answered');
  });

  test('leave out hosts that are reached directly, and are judged there', async () => {
    expect(await call(`http://127.0.0.1:${portOf(plain)}/`, proxy)).toBe('answered');
    const options = { ...proxy, noProxy: 'example.org', resolve: async () => ['10.0.0.1'] };
    expect(await call(hooks(), options)).toBe('GWK_FORBIDDEN_ADDRESS');
    expect(proxy.opened).toEqual([]);
  });

  test('name the fault of the proxy', async () => {
    expect(await call(hooks(), { url: buildProxyUrl(kind, proxy.port, 'wrong') })).toBe(
      'proxy_login_refused',
    );
    expect(await call('https://refused.example.org/', proxy)).toBe('proxy_refused');
    const stopped = await startProxy(kind);
    await stopped.stop();
    expect(await call(hooks(), stopped)).toBe('proxy_unreachable');
  });
});
