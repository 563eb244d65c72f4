import { PROBLEMS, type ConsoleProblemCode, type ProblemBody } from '@gwk/core/problems/problems';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { Answer } from '@gwk/test/support/api/client';
import { Browser, browserOf, createUser, openBrowser, PASSWORD } from '@gwk/test/support/api/console';
import { addPasskey } from '@gwk/test/support/api/passkey';
import { setUpTotp } from '@gwk/test/support/api/authenticator';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';

/** Provokes every problem of the console as a browser would. An API of its own, because one case locks the address. */
let api: TestApi;
/** An API whose provider is down. */
let federated: TestApi;

beforeAll(async () => {
  api = await openApi({ settings: { GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000' } });
  federated = await openApi({
    settings: {
      // Nothing listens there.
      GWK_API_OIDC_ISSUER: 'http://127.0.0.1:9',
      GWK_API_OIDC_CLIENT_ID: 'gwk',
      GWK_API_OIDC_DOMAINS: 'example.org',
      GWK_API_OIDC_PASSWORDS: 'off',
    },
  });
});
afterAll(() => Promise.all([api.stop(), federated.stop()]));

type Refusal = Promise<Answer<unknown>>;

const SESSION = '/console/api/session';

const accept = (token: string) =>
  new Browser(api).call('POST', '/console/api/invitations/accept', {
    body: { token, name: 'Eva', password: PASSWORD },
  });
const invite = (browser: Browser, email: string) =>
  browser.call('POST', '/console/api/invitations', { body: { email, role: 'viewer' } });

async function withTotp() {
  const user = await createUser(api);
  return { user, ...(await setUpTotp(await browserOf(api, user))) };
}

async function withContacts(amount: number) {
  const account = await api.account();
  const contact = { accountId: account.id, name: 'Ana', channel: 'email', language: 'en' };
  const ids = Array.from({ length: amount }, () => newUuid());
  const data = ids.map((id) => ({ id, ...contact, address: `${id}@example.org` }));
  await api.db.alertContact.createMany({ data });
  return { account, browser: await openBrowser(api, account) };
}
const addContact = (browser: Browser, address: string) =>
  browser.call('POST', '/console/api/alert-contacts', {
    body: { name: 'Ana', channel: 'email', address, language: 'en' },
  });

/** A code without a row does not compile. */
const CASES: Record<ConsoleProblemCode, { when: string; provoke: () => Refusal }> = {
  'invalid-credentials': {
    when: 'the password is wrong',
    provoke: async () => new Browser(api).signIn((await createUser(api)).email, 'a wrong password'),
  },
  'login-locked': {
    when: '10 sign-ins of the user have failed',
    provoke: async () => {
      const { email } = await createUser(api);
      for (let n = 0; n < 10; n++) await new Browser(api).signIn(email, 'a wrong password');
      return new Browser(api).signIn(email);
    },
  },
  'csrf-failed': {
    when: 'the token belongs to another session',
    provoke: async () => {
      const [one, other] = [
        await browserOf(api, await createUser(api)),
        await browserOf(api, await createUser(api)),
      ];
      one.headers['x-csrf-token'] = other.headers['x-csrf-token']!;
      return one.call('DELETE', SESSION);
    },
  },
  'origin-not-allowed': {
    when: 'a foreign page sends the request',
    provoke: async () => {
      const browser = await browserOf(api, await createUser(api));
      browser.headers['origin'] = 'https://evil.example';
      return browser.call('DELETE', SESSION);
    },
  },
  'no-account': {
    when: 'the person is no member',
    provoke: async () => {
      const browser = await browserOf(api, await createUser(api));
      return browser.use(await api.account()).call('GET', '/v1/instances');
    },
  },
  'mfa-required': {
    when: 'the person has a second factor',
    provoke: async () => {
      const { user } = await withTotp();
      return new Browser(api).signIn(user.email);
    },
  },
  'invalid-code': {
    when: 'the code is wrong',
    provoke: async () => {
      const { user, app } = await withTotp();
      const browser = new Browser(api);
      await browser.signIn(user.email);
      return browser.open('/code', { code: app.wrongCode() });
    },
  },
  'mfa-not-pending': {
    when: 'no sign-in waits for a code',
    provoke: () => new Browser(api).open('/code', { code: '123456' }),
  },
  'mfa-not-verified': {
    when: 'the account requires what the person lacks',
    provoke: async () => {
      const account = await api.account();
      await api.db.account.update({ where: { id: account.id }, data: { requiresMfa: true } });
      return (await openBrowser(api, account)).call('GET', '/v1/instances');
    },
  },
  'mfa-needs-link': {
    when: 'the password alone begins a required set-up',
    provoke: async () => {
      const account = await api.account();
      await api.db.account.update({ where: { id: account.id }, data: { requiresMfa: true } });
      const { user } = await openBrowser(api, account);
      const browser = new Browser(api);
      await browser.signIn(user.email);
      return browser.call('POST', '/console/api/profile/totp', { body: { password: PASSWORD } });
    },
  },
  'mfa-setup-not-started': {
    when: 'there is no secret to confirm',
    provoke: async () => {
      const browser = await browserOf(api, await createUser(api));
      return browser.call('POST', '/console/api/profile/totp/confirm', { body: { code: '123456' } });
    },
  },
  'passwords-off': {
    when: 'people sign in with the provider only',
    provoke: () => new Browser(federated).signIn('ana@example.org'),
  },
  'provider-unavailable': {
    when: 'the provider does not answer',
    provoke: () => new Browser(federated).call('POST', `${SESSION}/provider`),
  },
  'recent-sign-in-required': {
    when: 'the sign-in of a person without a password is older than 15 minutes',
    provoke: async () => {
      const browser = await browserOf(api, await createUser(api));
      const { id } = browser.user;
      await api.db.user.update({ where: { id }, data: { passwordHash: null } });
      const createdAt = new Date(Date.now() - 15 * 60_000 - 1_000);
      await api.db.userSession.updateMany({ where: { userId: id }, data: { createdAt } });
      return browser.call('POST', '/console/api/profile/passkeys/options', { body: {} });
    },
  },
  'too-many-passkeys': {
    when: 'the person has 20 passkeys',
    provoke: async () => {
      const browser = await browserOf(api, await createUser(api));
      for (let n = 0; n < 20; n++) await addPasskey(api, browser.user);
      const body = { password: PASSWORD };
      return browser.call('POST', '/console/api/profile/passkeys/options', { body });
    },
  },
  'weak-password': {
    when: 'the new password is short',
    provoke: async () => {
      const browser = await browserOf(api, await createUser(api));
      const body = { current: PASSWORD, password: 'short' };
      return browser.call('POST', '/console/api/profile/password', { body });
    },
  },
  'invalid-scopes': {
    when: 'the role lacks a scope of the key',
    provoke: async () => {
      const browser = await openBrowser(api, await api.account(), 'developer');
      return browser.call('POST', '/console/api/keys', { body: { scopes: ['instances:write'] } });
    },
  },
  'invalid-expiration': {
    when: 'the key would have expired',
    provoke: async () => {
      const browser = await openBrowser(api, await api.account());
      const body = { scopes: ['messages:read'], expires_at: new Date().toISOString() };
      return browser.call('POST', '/console/api/keys', { body });
    },
  },
  'invitation-invalid': {
    when: 'the invitation never existed',
    provoke: () => accept('unknown'),
  },
  'already-member': {
    when: 'a member is invited',
    provoke: async () => {
      const browser = await openBrowser(api, await api.account());
      return invite(browser, browser.user.email);
    },
  },
  'user-exists': {
    when: 'a known person accepts without a session',
    provoke: async () => {
      const browser = await openBrowser(api, await api.account());
      const { body } = await invite(browser, (await createUser(api)).email);
      return accept((body as { url: string }).url.split('#token=')[1]!);
    },
  },
  'last-owner': {
    when: 'the only owner leaves',
    provoke: async () => {
      const browser = await openBrowser(api, await api.account());
      return browser.call('DELETE', `/console/api/members/${toPublicId('user', browser.user.id)}`);
    },
  },
  'contact-exists': {
    when: 'the e-mail is an alert contact already',
    provoke: async () => {
      const { browser, account } = await withContacts(1);
      const { address } = await api.db.alertContact.findFirstOrThrow({ where: { accountId: account.id } });
      return addContact(browser, address);
    },
  },
  'too-many-contacts': {
    when: 'the account has 10 alert contacts',
    provoke: async () => addContact((await withContacts(10)).browser, 'one-more@example.org'),
  },
  'invalid-contact': {
    when: 'there is no SMTP server',
    provoke: async () => addContact((await withContacts(0)).browser, 'ana@example.org'),
  },
  'handoff-invalid': {
    when: 'the link never existed',
    provoke: () => new Browser(api).open('/handoff', { token: 'unknown' }),
  },
};

const rows = Object.entries(CASES).map(([code, row]) => ({ code: code as ConsoleProblemCode, ...row }));

test.each(rows)('$code: $when', async ({ code, provoke }) => {
  const { status, headers, body } = await provoke();
  const { type, title, request_id } = body as ProblemBody;
  expect([status, type]).toEqual([PROBLEMS[code].status, `https://docs.example.org/problems/${code}`]);
  expect([title, request_id]).toEqual([PROBLEMS[code].title, headers['x-request-id']]);
  expect(headers['retry-after'] !== undefined).toBe(status === 429 || status === 503);
});
