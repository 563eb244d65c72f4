import { openBrowser, type Browser } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { pickPort } from '@gwk/test/support/ports';
import { until } from '@gwk/test/support/wait';
import { checkKey } from './commands.js';
import { requestKey } from './browser-login.js';

/** The program and a real API. The test does what the page of the console does. */
let api: TestApi;
let url: string;
let account: TestAccount;
let printed: string;

beforeAll(async () => {
  const port = await pickPort();
  url = `http://127.0.0.1:${port}`;
  api = await openApi({ settings: { GWK_API_PORT: String(port), GWK_API_BASE_URL: url } });
});
afterAll(() => api.stop());
beforeEach(async () => {
  account = await api.account();
  printed = '';
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(() => jest.restoreAllMocks());

/** Reads the printed address as the page does. */
async function readAddress() {
  const address = new URL(
    await until(() => /http\S+approve-key#\S+/.exec(printed)?.[0], { what: 'the address is printed' }),
  );
  const { challenge, port, name } = Object.fromEntries(new URLSearchParams(address.hash.slice(1)));
  return { challenge: challenge!, back: `http://127.0.0.1:${port}/`, name: name! };
}

async function approve(challenge: string, name: string): Promise<string> {
  const browser: Browser = await openBrowser(api, account);
  browser.headers['origin'] = url;
  const answer = await browser.call<{ code: string }>('POST', '/console/api/key-approvals', {
    body: { name, scopes: ['instances:read'], challenge },
  });
  return answer.body.code;
}

test('a login gets the approved key, and its port closes', async () => {
  const login = requestKey(url, { opens: false });
  const { challenge, back, name } = await readAddress();
  expect(printed).toContain(`${challenge.slice(0, 4)}-${challenge.slice(4, 8)}`.toUpperCase());
  const page = await fetch(`${back}?code=${await approve(challenge, name)}`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('You can close this page')]);
  const key = await login;
  await checkKey({ url, key });
  const [row] = await api.db.apiKey.findMany({ where: { accountId: account.id } });
  expect(row).toMatchObject({ name, scopes: ['instances:read'] });
  expect(printed).not.toContain(key);
  await expect(fetch(back)).rejects.toThrow();
});

test('codes of others do not end the wait', async () => {
  const login = requestKey(url, { opens: false });
  const { challenge, back, name } = await readAddress();
  expect((await fetch(`${back}favicon.ico`)).status).toBe(404);
  expect((await fetch(`${back}?code=gwk_live_${'x'.repeat(43)}`)).status).toBe(404);
  expect(printed).not.toContain('(422)');
  const foreign = await fetch(`${back}?code=${await approve('0'.repeat(64), 'another program')}`);
  expect([foreign.status, await foreign.text()]).toEqual([422, expect.stringContaining('gwk login again')]);
  expect(printed).toContain('(422)');
  expect((await fetch(`${back}?code=${await approve(challenge, name)}`)).status).toBe(200);
  await checkKey({ url, key: await login });
});

test('a login that nobody approves ends', async () => {
  await expect(requestKey(url, { opens: false, waitMs: 1 })).rejects.toMatchObject({ kind: 'timeout' });
});

test('a gateway without a console is named before the browser opens', async () => {
  const off = await openApi({ settings: { GWK_API_CONSOLE: 'off' } });
  try {
    const login = requestKey(`http://127.0.0.1:${off.port}`, { opens: true });
    await expect(login).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('--console'),
    });
    expect(printed).toBe('');
  } finally {
    await off.stop();
  }
});
