import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inFakeTime } from '@gwk/test/support/fake-time';
import { Proxy } from '../proxy/proxy.js';
import { loadConfig } from './load.js';
import { proxySettings } from './proxy.js';

const load = (env: Record<string, string>) => loadConfig(proxySettings('GWK_API', 'tests'), env);
const RAW = 'has a user or password with a %, which must be written as %25';

test.each([
  ['GWK_API_PROXY_URL', 'http://gwk:50%@proxy.test:3128', RAW],
  ['GWK_API_PROXY_URL', 'socks5://gwk%zz:secret@proxy.test', RAW],
  ['HTTPS_PROXY', 'https://gwk:50%@proxy.test', RAW],
  ['HTTPS_PROXY', 'ftp://proxy.test', 'must be a URL that begins with http://'],
])('refuses %s=%s', (name, value, fault) => {
  expect(() => load({ [name]: value })).toThrow(`${name}=(hidden): ${fault}`);
});

test('accepts an encoded password', () => {
  expect(load({ HTTPS_PROXY: 'http://gwk:50%25@proxy.test' }).standardProxyUrl).toContain('50%25');
});

test(
  'a file that later contains a raw % fails connections with the reason, without the password',
  inFakeTime(async (pass) => {
    const folder = mkdtempSync(join(tmpdir(), 'gwk-proxy-'));
    const file = join(folder, 'url');
    writeFileSync(file, 'http://gwk:secret@proxy.test:3128');
    const proxy = Proxy.fromConfig(load({ GWK_API_PROXY_URL_FILE: file }))!;
    writeFileSync(file, 'http://gwk:50%@proxy.test:3128');
    await pass(11_000);
    const opened = proxy.open({ host: 'api.test', port: 443 });
    await expect(opened).rejects.toThrow(`the proxy cannot be reached (its address ${RAW})`);
    rmSync(folder, { recursive: true });
  }),
);
