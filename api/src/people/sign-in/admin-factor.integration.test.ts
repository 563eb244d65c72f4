import type { ProblemBody } from '@gwk/core/problems/problems';
import type { SessionOut } from '../../resources/console/session.js';
import { setUpTotp } from '@gwk/test/support/api/authenticator';
import type { Answer } from '@gwk/test/support/api/client';
import { addMember, Browser, browserOf, createUser, PASSWORD } from '@gwk/test/support/api/console';
import { sampleOf } from '@gwk/test/support/api/console-world';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { CONSOLE_OPERATIONS } from '../../public-api/operations.js';
import { createHandoff } from './handoffs.js';

let api: TestApi;
let account: TestAccount;

beforeAll(async () => {
  api = await openApi({ settings: { GWK_API_CONSOLE_ADMIN_MFA: 'on' } });
  account = await api.account();
});
afterAll(() => api.stop());

const outcome = ({ status, body }: Answer<unknown>) =>
  status < 300 ? status : (body as ProblemBody).type.split('/').at(-1);
const newAdmin = () => createUser(api, { isPlatformAdmin: true });
const ofPlatform = CONSOLE_OPERATIONS.filter(({ person }) => person === 'platform-admin').map(
  (operation) => ({ operation, name: operation.name }),
);
const SETUP = '/console/api/profile/totp';

test('an administrator without a factor uses neither the platform nor an account', async () => {
  const browser = (await browserOf(api, await newAdmin())).use(account);
  const id = `acc_${account.id.replaceAll('-', '')}`;
  const calls = [
    browser.call('GET', '/console/api/platform/accounts'),
    browser.call('POST', '/console/api/platform/accounts', { body: { name: 'another' } }),
    browser.call('PATCH', `/console/api/platform/accounts/${id}`, { body: { suspended: true } }),
    browser.call('GET', '/v1/instances'),
    browser.call('POST', '/console/api/keys', { body: { name: 'erp', scopes: ['messages:read'] } }),
  ];
  expect((await Promise.all(calls)).map(outcome)).toEqual(calls.map(() => 'mfa-not-verified'));
  const session = await browser.call<SessionOut>('GET', '/console/api/session');
  expect([session.status, session.body.requires_mfa]).toEqual([200, true]);
});

test.each(ofPlatform)('$name without a factor: mfa-not-verified', async ({ operation }) => {
  const browser = await browserOf(api, await newAdmin());
  const { method, path, body } = sampleOf(operation);
  expect(outcome(await browser.call(method, path, { body }))).toBe('mfa-not-verified');
});

test('an administrator without a factor learns only of the own accounts', async () => {
  const admin = await newAdmin();
  const browser = await browserOf(api, admin);
  const own = await api.account();
  await addMember(api, own, { userId: admin.id, role: 'viewer' });
  const list = async () => {
    const session = await browser.call<SessionOut>('GET', '/console/api/session');
    const path = `/console/api/session/accounts?search=${encodeURIComponent(account.name)}`;
    const found = await browser.call<{ data: SessionOut['accounts'] }>('GET', path);
    return [session.body.accounts, found.body.data].map((accounts) => accounts.map(({ name }) => name));
  };
  expect(await list()).toEqual([[own.name], []]);
  await setUpTotp(browser);
  expect(await list()).toEqual([expect.arrayContaining([own.name, account.name]), [account.name]]);
});

test('with a factor everything opens', async () => {
  const browser = (await browserOf(api, await newAdmin())).use(account);
  await setUpTotp(browser);
  expect(outcome(await browser.call('GET', '/console/api/platform/accounts'))).toBe(200);
  expect(outcome(await browser.call('GET', '/v1/instances'))).toBe(200);
});

test('the first administrator of an installation sets the factor up after a link', async () => {
  const admin = await newAdmin();
  await api.db.user.update({ where: { id: admin.id }, data: { passwordHash: null } });
  const { url } = await createHandoff(api.db, admin.id, { baseUrl: 'http://127.0.0.1', seconds: 60 });
  const browser = new Browser(api);
  expect(outcome(await browser.open('/handoff', { token: url.split('token=')[1] }))).toBe(200);
  await setUpTotp(browser);
  expect(outcome(await browser.call('GET', '/console/api/platform/accounts'))).toBe(200);
});

test('the password alone sets up no first factor, by an app or a passkey', async () => {
  const admin = await newAdmin();
  const browser = new Browser(api);
  expect(outcome(await browser.signIn(admin.email))).toBe(200);
  const body = { password: PASSWORD };
  expect(outcome(await browser.call('POST', SETUP, { body }))).toBe('mfa-needs-link');
  expect(outcome(await browser.call('POST', '/console/api/profile/passkeys/options', { body }))).toBe(
    'mfa-needs-link',
  );
});

test('a removal with a code lets the person set up another factor for 10 minutes', async () => {
  const admin = await newAdmin();
  const setUntil = (factorSetUpUntil: Date | null) =>
    api.db.user.update({ where: { id: admin.id }, data: { factorSetUpUntil } });
  await setUntil(new Date(Date.now() + 60_000));
  const browser = new Browser(api);
  expect(outcome(await browser.signIn(admin.email))).toBe(200);
  const { app } = await setUpTotp(browser);
  await setUntil(null);
  const remove = async (code: string) =>
    outcome(await browser.call('POST', `${SETUP}/remove`, { body: { code } }));
  const readUntil = async () =>
    (await api.db.user.findUniqueOrThrow({ where: { id: admin.id } })).factorSetUpUntil;
  expect(await remove(app.wrongCode())).toBe('invalid-code');
  expect(await readUntil()).toBeNull();
  expect(await remove(app.code(1))).toBe(204);
  expect((await readUntil())!.getTime() - Date.now()).toBeLessThanOrEqual(600_000);
  const start = async (by: Browser) =>
    outcome(await by.call('POST', SETUP, { body: { password: PASSWORD } }));
  expect(await start(browser)).toBe(200);
  await setUntil(new Date());
  expect(await start(browser)).toBe('mfa-needs-link');
});

test('other people need no factor', async () => {
  const browser = new Browser(api);
  const { body } = await browser.signIn((await createUser(api)).email);
  expect(body.requires_mfa).toBe(false);
  expect(outcome(await browser.call('POST', SETUP, { body: { password: PASSWORD } }))).toBe(200);
  expect(outcome(await browser.call('GET', '/console/api/platform/accounts'))).toBe('forbidden');
});

test('without the setting, as on one machine, an administrator needs no factor', async () => {
  const open = await openApi({ settings: {} });
  try {
    const browser = await browserOf(open, await createUser(open, { isPlatformAdmin: true }));
    expect(outcome(await browser.call('GET', '/console/api/platform/accounts'))).toBe(200);
  } finally {
    await open.stop();
  }
});
