import type { ProblemBody } from '@gwk/core/problems/problems';
import { Browser, createUser, openBrowser, PASSWORD } from '@gwk/test/support/api/console';
import { openApi, sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';

/** A console at a host of its own, over HTTPS, with an API that is public elsewhere. */
const CONSOLE = 'https://console.example.com';
let api: TestApi;

beforeAll(async () => {
  api = await openApi({
    settings: { GWK_API_BASE_URL: 'http://api.internal', GWK_API_CONSOLE_URL: CONSOLE },
  });
});
afterAll(() => api.stop());

test('sign-in sets a cookie of that host, by which /v1 and /console/api answer there', async () => {
  const user = await createUser(api, { isPlatformAdmin: true });
  const browser = new Browser(api);
  const host = { host: 'console.example.com' };
  Object.assign(browser.headers, { origin: CONSOLE, ...host });
  const answer = await browser.signIn(user.email, PASSWORD);
  expect(answer.headers['set-cookie']![0]).toMatch(/^__Host-gwk_session=.*Path=\/; .*; Secure$/);
  browser.use(await api.account());
  expect((await browser.call('GET', '/console/api/account')).status).toBe(200);
  expect((await browser.call('GET', '/v1/instances')).status).toBe(200);
});

test.each<[string, string, number, string | undefined]>([
  ['/', 'console.example.com', 302, '/console'],
  ['/?next=https://evil.example', 'Console.Example.com', 302, '/console'],
  ['/', 'api.internal', 404, undefined],
  ['/', 'evil.example', 404, undefined],
  ['/v2', 'console.example.com', 404, undefined],
])('%s of the host %s is answered %i', async (path, host, status, location) => {
  const browser = new Browser(api);
  browser.headers['host'] = host;
  const answer = await browser.call('GET', path);
  expect([answer.status, answer.headers['location']]).toEqual([status, location]);
});

test('/ leads to the console only those who read', async () => {
  const browser = new Browser(api);
  browser.headers['host'] = 'console.example.com';
  expect((await browser.call('POST', '/')).status).toBe(404);
});

test('without a host of its own the console takes no other address', async () => {
  expect((await new Browser(await sharedApi()).call('GET', '/')).status).toBe(404);
});

test.each([
  [CONSOLE, 204],
  ['http://api.internal', 204],
  ['https://other.example.com', 403],
])('a change from the origin %s is answered %i', async (origin, status) => {
  const browser = await openBrowser(api, await api.account());
  browser.headers['cookie'] = browser.headers['cookie']!.replace('gwk_session', '__Host-gwk_session');
  browser.headers['origin'] = origin;
  const answer = await browser.call<ProblemBody | undefined>('DELETE', '/console/api/session');
  expect(answer.status).toBe(status);
});

test('invitations lead to that host', async () => {
  const browser = await openBrowser(api, await api.account());
  browser.headers['cookie'] = browser.headers['cookie']!.replace('gwk_session', '__Host-gwk_session');
  browser.headers['origin'] = CONSOLE;
  const body = { email: `rui-${browser.user.id}@example.com`, role: 'viewer' };
  const { body: made } = await browser.call<{ url: string }>('POST', '/console/api/invitations', { body });
  expect(made.url).toMatch(/^https:\/\/console\.example\.com\/console\/invitation#token=/);
});
