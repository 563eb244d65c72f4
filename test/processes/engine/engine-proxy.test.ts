import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import { QR } from '../../support/engine/simulated-instance.js';
import { until } from '../../support/engine/engine-process.js';
import { Stage } from '../../support/engine/stage.js';
import { toRedisAddress } from '../../support/engine/addresses.js';
import {
  buildProxyUrl,
  PROXY_LOGIN,
  startProxy,
  type ProxyKind,
  type TestProxy,
} from '../../support/servers/proxies.js';
import { redisPrefix, redisUrl } from '../../support/servers/servers.js';

/** Logs of engine processes behind a proxy: neither its password nor its address. */
const folder = mkdtempSync(join(tmpdir(), 'gwk-engine-proxy-'));
const file = join(folder, 'url');
let stage: Stage;
let network: RunningNetwork;
let proxy: TestProxy;

afterEach(async () => {
  await stage.close();
  await proxy.stop();
  await network.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each<ProxyKind>(['http', 'socks5'])(
  'an engine behind a proxy (%s) logs neither its password nor its address',
  async (kind) => {
    network = await startNetwork();
    proxy = await startProxy(kind);
    stage = await Stage.open(toRedisAddress(redisUrl()), redisPrefix());
    stage.api.kind = 'web';
    stage.api.state = 'pending_pair';
    stage.api.pairing = QR;
    writeFileSync(file, buildProxyUrl(kind, proxy.port, 'wrong-password'));
    const settings = {
      environment: {
        GWK_LOG_LEVEL: 'debug',
        GWK_ENGINE_NETWORK_URL: `ws://web.network.test:${new URL(network.url).port}`,
        GWK_ENGINE_NETWORK_ROOT: network.root.toString('hex'),
        GWK_ENGINE_PROXY_URL_FILE: file,
      },
    };
    const refused = stage.launch(settings);
    await until('the fault is logged', () => refused.log.includes('proxy_login_refused'));
    expect(proxy.opened).toEqual([]);
    await refused.kill();
    writeFileSync(file, proxy.url);
    const engine = stage.launch(settings);
    await until('the engine reaches the network', () => proxy.opened.length > 0);
    for (const { log } of [refused, engine]) {
      for (const secret of ['wrong-password', PROXY_LOGIN.password, encodeURIComponent(PROXY_LOGIN.password)])
        expect(log).not.toContain(secret);
      expect(log).not.toContain(String(proxy.port));
    }
  },
);
