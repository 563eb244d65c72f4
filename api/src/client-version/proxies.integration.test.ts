import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { loadConfig } from '@gwk/core/config/load';
import { proxySettings } from '@gwk/core/config/proxy';
import { openAgents } from '@gwk/core/proxy/agents';
import { TEST_CERTIFICATE } from '@gwk/test/support/certificate';
import { PROXY_CA, startProxy, type ProxyKind, type TestProxy } from '@gwk/test/support/servers/proxies';
import { readServedVersion } from './source.js';

const NOW = Date.parse('2026-07-30');
const trusted = getCACertificates('default');
let server: Server;
let address: string;
let proxy: TestProxy | undefined;

beforeAll(async () => {
  setDefaultCACertificates([...trusted, TEST_CERTIFICATE.cert]);
  server = createServer(TEST_CERTIFICATE, (_, response) => response.end('{"client_revision":1044142122}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `${TEST_CERTIFICATE.name}:${(server.address() as AddressInfo).port}`;
});
afterEach(() => proxy?.stop());
afterAll(() => {
  setDefaultCACertificates(trusted);
  server.closeAllConnections();
  server.close();
});

function read(url: string, ca = PROXY_CA) {
  const given = { GWK_WORKER_PROXY_URL: url, GWK_WORKER_PROXY_CA: ca };
  const agents = openAgents(loadConfig(proxySettings('GWK_WORKER', 'tests'), given));
  return readServedVersion({ url: `https://${address}/sw.js`, agents, now: () => NOW });
}

test.each<ProxyKind>(['http', 'https', 'socks5'])('reads the version through a proxy (%s)', async (kind) => {
  proxy = await startProxy(kind);
  expect(await read(proxy.url)).toBe('2.3000.1044142122');
  expect(proxy.opened).toEqual([address]);
});

test('reads nothing past a proxy that is down', async () => {
  proxy = await startProxy('http');
  await proxy.stop();
  await expect(read(proxy.url)).rejects.toMatchObject({ fault: 'unreachable' });
  expect(proxy.opened).toEqual([]);
});
