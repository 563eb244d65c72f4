import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { ProblemBody } from '@gwk/core/problems/problems';
import { Browser } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { TEST_CERTIFICATE } from '@gwk/test/support/certificate';
import { followRedirects, TestOidcProvider } from '@gwk/test/support/servers/oidc-provider';
import { PROXY_CA, startProxy, type ProxyKind, type TestProxy } from '@gwk/test/support/servers/proxies';
import { Agent, fetch as fetchBy } from 'undici';

const ORIGIN = 'http://127.0.0.1:8080';
const SIGN_IN = '/console/api/session/provider';

let provider: TestOidcProvider;
let proxy: TestProxy;
let api: TestApi;
const trusted = getCACertificates('default');
/** The browser of the person finds the provider, whose name the API cannot resolve. */
const outside = new Agent({
  connect: { ca: TEST_CERTIFICATE.cert, lookup: (_name, _options, done) => done(null, [LOCAL]) },
});
const LOCAL = { address: '127.0.0.1', family: 4 };
const browse = ((url: string, options: object) =>
  fetchBy(url, { ...options, dispatcher: outside })) as unknown as typeof fetch;

beforeAll(async () => {
  setDefaultCACertificates([...trusted, TEST_CERTIFICATE.cert]);
  provider = await TestOidcProvider.start([`${ORIGIN}/console/oidc`], TEST_CERTIFICATE);
});
afterAll(async () => {
  setDefaultCACertificates(trusted);
  await outside.destroy();
  await provider.stop();
});
afterEach(async () => {
  await api.stop();
  await proxy.stop();
});

async function open(kind: ProxyKind): Promise<void> {
  proxy = await startProxy(kind);
  const route = { GWK_API_PROXY_URL: proxy.url, GWK_API_PROXY_CA: PROXY_CA };
  api = await openApi({ settings: { ...provider.settings, ...route } });
}

async function visitProvider(browser: Browser): Promise<string> {
  provider.person = { sub: 'ana', email: 'ana@example.org', email_verified: true };
  const { body } = await browser.call<{ url: string }>('POST', SIGN_IN);
  return (await followRedirects(body.url, browse)).search.slice(1);
}
const codeOf = ({ body }: { body: unknown }) => (body as ProblemBody).type.split('/').at(-1);

describe.each<ProxyKind>(['http', 'https', 'socks5'])('a provider behind a proxy (%s)', (kind) => {
  test('confirms sign-ins', async () => {
    await open(kind);
    const browser = new Browser(api);
    const query = await visitProvider(browser);
    // The provider has confirmed the person, who has no account.
    expect(codeOf(await browser.open('/provider/answer', { query }))).toBe('no-account');
    expect(new Set(proxy.opened)).toEqual(new Set([new URL(provider.issuer).host]));
  });

  test('is unavailable while the proxy is down', async () => {
    await open(kind);
    const browser = new Browser(api);
    const query = await visitProvider(browser);
    await proxy.stop();
    const answer = await browser.open('/provider/answer', { query });
    expect([answer.status, codeOf(answer)]).toEqual([503, 'provider-unavailable']);
  });
});
