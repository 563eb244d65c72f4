import { setUpTotp } from '@gwk/test/support/api/authenticator';
import { toPublicId } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { AuditEntryOut } from '../../resources/console/audit.js';
import {
  addMember,
  Browser,
  browserOf,
  createUser,
  openBrowser,
  PASSWORD,
  type TestUser,
} from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { createHandoff } from './handoffs.js';

/** An API of its own, because failures count for the address. */
let api: TestApi;
let user: TestUser;

beforeAll(async () => {
  api = await openApi({
    settings: { GWK_API_TRUST_PROXY: '1', GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000' },
  });
});
beforeEach(async () => {
  await api.db.auditEntry.deleteMany();
  user = await createUser(api);
});
afterAll(() => api.stop());

function browserAt(address: string): Browser {
  const browser = new Browser(api);
  browser.headers['x-forwarded-for'] = address;
  return browser;
}

async function readEntries() {
  const entries = await api.db.auditEntry.findMany({ orderBy: { id: 'asc' } });
  return entries.map(({ actor, action, subject, detail }) => [actor, action, subject, detail]);
}

test('the audit log has each sign-in with its way and address', async () => {
  const itself = `user:${user.id}`;
  await browserAt('192.0.2.1').signIn(user.email);
  const { url } = await createHandoff(api.db, user.id, { baseUrl: 'http://127.0.0.1', seconds: 60 });
  await browserAt('192.0.2.2').open('/handoff', { token: url.split('token=')[1] });
  const { app } = await setUpTotp(await browserOf(api, user));
  const browser = browserAt('192.0.2.3');
  await browser.signIn(user.email);
  await browser.open('/code', { code: app.code(1) });
  expect(await readEntries()).toEqual([
    [itself, 'user.sign-in', user.id, { by: 'password', address: '192.0.2.1' }],
    [itself, 'user.sign-in', user.id, { by: 'link', address: '192.0.2.2' }],
    [itself, 'user.totp-set', user.id, {}],
    [itself, 'user.sign-in', user.id, { by: 'code', address: '192.0.2.3' }],
  ]);
});

test('the audit log has each failure of a user, and the lock once', async () => {
  for (let n = 0; n < 12; n++) await browserAt('192.0.2.4').signIn(user.email, 'a wrong password');
  await browserAt('192.0.2.4').signIn(user.email);
  const entries = await readEntries();
  const failed = ['anyone', 'user.sign-in-failed', user.id, { step: 'password', address: '192.0.2.4' }];
  expect(entries.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => failed));
  expect(entries.slice(10)).toEqual([
    ['anyone', 'user.sign-in-locked', user.id, { step: 'password', address: '192.0.2.4' }],
  ]);
  expect(JSON.stringify(entries)).not.toMatch(new RegExp(`a wrong password|${PASSWORD}|argon2`));
});

test('owners see the failures and locks of their members, and of nobody else', async () => {
  const account = await api.account();
  await addMember(api, account, { userId: user.id, role: 'agent' });
  const stranger = await createUser(api);
  for (const email of [user.email, stranger.email]) {
    for (let n = 0; n < 10; n++) await browserAt('192.0.2.7').signIn(email, 'a wrong password');
  }
  const read = async (query: Record<string, string> = {}) => {
    const owner = await openBrowser(api, account);
    const { body } = await owner.call<Page<AuditEntryOut>>('GET', '/console/api/audit-log', { query });
    return body.data.map(({ actor, action, subject }) => [actor, action, subject]);
  };
  const subject = toPublicId('user', user.id);
  const failed = ['anyone', 'user.sign-in-failed', subject];
  const locked = ['anyone', 'user.sign-in-locked', subject];
  expect((await read()).toSorted()).toEqual([...Array.from({ length: 10 }, () => failed), locked]);
  expect(await read({ action: 'user.sign-in-locked', actor: 'anyone' })).toEqual([locked]);
  expect(await read({ subject: toPublicId('user', stranger.id) })).toEqual([]);
});

test('the audit log has wrong codes, and wrong passwords of a change', async () => {
  const browser = await browserOf(api, user);
  const { app } = await setUpTotp(browser);
  await browser.call('POST', '/console/api/profile/totp/remove', { body: { code: app.wrongCode() } });
  const body = { current: 'a wrong password', password: 'nine green turtles' };
  await browser.call('POST', '/console/api/profile/password', { body });
  const pending = browserAt('192.0.2.5');
  await pending.signIn(user.email);
  await pending.open('/code', { code: app.wrongCode() });
  const entries = await api.db.auditEntry.findMany({ where: { action: 'user.sign-in-failed' } });
  expect(entries.map(({ detail }) => (detail as { step: string }).step)).toEqual([
    'totp-removal',
    'password-change',
    'code',
  ]);
});

test('strangers fill the audit log with one entry for each lock of an address', async () => {
  for (let n = 0; n < 60; n++) await browserAt('192.0.2.6').signIn(`nobody-${n}@example.org`, 'wrong');
  expect(await readEntries()).toEqual([['anyone', 'address.sign-in-locked', '192.0.2.6', {}]]);
});
