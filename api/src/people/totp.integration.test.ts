import { newUuid } from '@gwk/core/ids/ids';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { SessionOut } from '../resources/console/session.js';
import { Authenticator, setUpTotp } from '@gwk/test/support/api/authenticator';
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
import type { Answer } from '@gwk/test/support/api/client';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { hashToken, newToken } from '../accounts/sessions.js';
import { createHandoff } from './sign-in/handoffs.js';

/** An API of its own, because wrong codes count as failures of the address. */
let api: TestApi;
let user: TestUser;
let app: Authenticator;
let backupCodes: string[];

beforeAll(async () => {
  api = await openApi({ settings: { GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000' } });
});
beforeEach(async () => {
  await api.db.signInFailure.deleteMany();
  user = await createUser(api);
  ({ app, backupCodes } = await setUpTotp(await browserOf(api, user)));
});
afterAll(() => api.stop());

const PROFILE = '/console/api/profile/totp';
const codeOf = ({ body }: Answer<unknown>) => (body as ProblemBody).type.split('/').at(-1);
const outcome = (answer: Answer<unknown>) => (answer.status < 300 ? answer.status : codeOf(answer));
const isOpen = async (browser: Browser) => (await browser.call('GET', '/console/api/session')).status === 200;

/** A browser after a right password. */
async function afterPassword(): Promise<Browser> {
  const browser = new Browser(api);
  const answer = await browser.signIn(user.email);
  expect([answer.status, codeOf(answer)]).toEqual([401, 'mfa-required']);
  expect(answer.headers['set-cookie']![0]).toContain('Max-Age=600;');
  return browser;
}
const send = (browser: Browser, code: string) => browser.open('/code', { code });

test('a sign-in needs a code, and the cookie before it opens nothing', async () => {
  const browser = await afterPassword();
  const pending = browser.headers['cookie'];
  expect(await isOpen(browser)).toBe(false);
  const answer = await send(browser, app.code(1));
  expect([answer.status, answer.body.user.has_totp]).toEqual([200, true]);
  expect(browser.headers['cookie']).not.toBe(pending);
  expect(await isOpen(browser)).toBe(true);
});

test('a code is accepted once, also of two uses at once, and none from before it', async () => {
  const code = app.code(1);
  const [one, other] = [await afterPassword(), await afterPassword()];
  const answers = await Promise.all([send(one, code), send(other, code)]);
  expect(answers.map(outcome).sort()).toEqual([200, 'invalid-code']);
  expect(outcome(await send(await afterPassword(), code))).toBe('invalid-code');
  expect(outcome(await send(await afterPassword(), app.code(0)))).toBe('invalid-code');
});

test('codes of other times are refused', async () => {
  const browser = await afterPassword();
  for (const code of [app.code(-3), app.code(3), app.wrongCode(), 'x', '0'.repeat(40)]) {
    expect(outcome(await send(browser, code))).toBe('invalid-code');
  }
});

test('guessing codes locks the code after 10 failures, also a right one, but not the password', async () => {
  const browser = await afterPassword();
  const wrong = app.wrongCode();
  for (let n = 0; n < 10; n++) expect(outcome(await send(browser, wrong))).toBe('invalid-code');
  const answer = await send(browser, app.code(1));
  expect([answer.status, codeOf(answer)]).toEqual([429, 'login-locked']);
  expect(outcome(await new Browser(api).signIn(user.email))).toBe('mfa-required');
});

test('guessing codes for hours locks codes of the app for a day, but not backup codes', async () => {
  const age = (minutes: number) =>
    api.db.$executeRaw`UPDATE sign_in_failures SET at = at - make_interval(mins => ${minutes}::int)`;
  const browser = await afterPassword();
  for (let n = 0; n < 20; n++) {
    if (n === 10) await age(16);
    expect(outcome(await send(browser, app.wrongCode()))).toBe('invalid-code');
  }
  await age(16);
  const answer = await send(browser, app.code(1));
  expect([answer.status, codeOf(answer)]).toEqual([429, 'login-locked']);
  const seconds = Number(answer.headers['retry-after']);
  expect(seconds).toBeGreaterThan(23 * 3_600);
  expect(seconds).toBeLessThan(24 * 3_600);
  expect(outcome(await send(await afterPassword(), backupCodes[0]!))).toBe(200);
  await age(24 * 60);
  expect(outcome(await send(browser, app.code(1)))).toBe(200);
});

test('a person without the password cannot lock the code', async () => {
  for (let n = 0; n < 30; n++) {
    expect(outcome(await send(new Browser(api), app.wrongCode()))).toBe('mfa-not-pending');
  }
  expect(outcome(await send(await afterPassword(), app.code(1)))).toBe(200);
});

test('each of ten backup codes replaces one code', async () => {
  expect(new Set(backupCodes).size).toBe(10);
  const [first, second] = backupCodes as [string, string];
  expect(first).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
  expect(outcome(await send(await afterPassword(), first))).toBe(200);
  expect(outcome(await send(await afterPassword(), first))).toBe('invalid-code');
  expect(outcome(await send(await afterPassword(), second.toLowerCase().replaceAll('-', ' ')))).toBe(200);
  expect(await api.db.backupCode.count({ where: { userId: user.id } })).toBe(8);
});

test('a backup code of another person is refused', async () => {
  const [foreign] = backupCodes;
  user = await createUser(api);
  await setUpTotp(await browserOf(api, user));
  expect(outcome(await send(await afterPassword(), foreign!))).toBe('invalid-code');
});

test('a link replaces the password, not the code', async () => {
  const { url } = await createHandoff(api.db, user.id, { baseUrl: 'http://127.0.0.1', seconds: 60 });
  const browser = new Browser(api);
  expect(outcome(await browser.open('/handoff', { token: url.split('token=')[1] }))).toBe('mfa-required');
  expect(await isOpen(browser)).toBe(false);
  expect(outcome(await send(browser, app.code(1)))).toBe(200);
});

test('a sign-in waits 10 minutes for the code', async () => {
  const browser = await afterPassword();
  const expiresAt = new Date(Date.now() - 1);
  await api.db.userSession.updateMany({ where: { userId: user.id, pending: true }, data: { expiresAt } });
  for (const one of [browser, new Browser(api), await browserOf(api, user)]) {
    const answer = await send(one, app.code(1));
    expect([answer.status, codeOf(answer)]).toEqual([409, 'mfa-not-pending']);
  }
});

describe('the set-up', () => {
  test('counts only once a code has confirmed it', async () => {
    const other = await createUser(api);
    const browser = await browserOf(api, other);
    expect(outcome(await browser.call('POST', `${PROFILE}/confirm`, { body: { code: '123456' } }))).toBe(
      'mfa-setup-not-started',
    );
    const { body } = await browser.call<{ secret: string; uri: string }>('POST', PROFILE, {
      body: { password: PASSWORD },
    });
    expect(body.uri).toContain(`secret=${body.secret}`);
    expect(outcome(await new Browser(api).signIn(other.email))).toBe(200);
    const wrong = new Authenticator(body.secret).wrongCode();
    const answer = await browser.call('POST', `${PROFILE}/confirm`, { body: { code: wrong } });
    expect(outcome(answer)).toBe('invalid-code');
    const row = await api.db.user.findUniqueOrThrow({ where: { id: other.id } });
    expect(row.totpConfirmedAt).toBeNull();
    expect(Buffer.from(row.totpSealed!).includes(body.secret)).toBe(false);
  });

  test('is locked against removal after 10 wrong codes, also with a right one', async () => {
    const browser = await browserOf(api, await createUser(api));
    const theirs = await setUpTotp(browser);
    const remove = (code: string) => browser.call('POST', `${PROFILE}/remove`, { body: { code } });
    for (let n = 0; n < 10; n++) expect(outcome(await remove(theirs.app.wrongCode()))).toBe('invalid-code');
    const answer = await remove(theirs.backupCodes[0]!);
    expect([answer.status, codeOf(answer)]).toEqual([429, 'login-locked']);
  });

  test('ends other sessions, and is refused while a second factor is in force', async () => {
    const other = await createUser(api);
    const [browser, elsewhere] = [await browserOf(api, other), await browserOf(api, other)];
    const theirs = await setUpTotp(browser);
    expect([await isOpen(browser), await isOpen(elsewhere)]).toEqual([true, false]);
    expect(outcome(await browser.call('POST', PROFILE, { body: { password: PASSWORD } }))).toBe(
      'mfa-not-pending',
    );
    const remove = (code: string) => browser.call('POST', `${PROFILE}/remove`, { body: { code } });
    expect(outcome(await remove(theirs.app.wrongCode()))).toBe('invalid-code');
    expect(await api.db.signInFailure.count()).toBe(1);
    expect(outcome(await remove(theirs.backupCodes[0]!))).toBe(204);
    expect(outcome(await remove(theirs.backupCodes[1]!))).toBe('mfa-setup-not-started');
    expect(outcome(await new Browser(api).signIn(other.email))).toBe(200);
    expect(await api.db.backupCode.count({ where: { userId: other.id } })).toBe(0);
    expect(outcome(await browser.call('POST', PROFILE, { body: { password: PASSWORD } }))).toBe(200);
  });
});

test('an account that requires two factors refuses members without them, but not their profile', async () => {
  const account = await api.account();
  const owner = await openBrowser(api, account);
  const member = await openBrowser(api, account, 'viewer');
  const require = () => owner.call('PATCH', '/console/api/account', { body: { requires_mfa: true } });
  expect(outcome(await require())).toBe('mfa-not-verified');
  await setUpTotp(owner);
  expect(outcome(await require())).toBe(200);
  for (const path of ['/console/api/account', '/v1/instances']) {
    const answer = await member.call('GET', path);
    expect([answer.status, codeOf(answer)]).toEqual([409, 'mfa-not-verified']);
  }
  const { body } = await member.call<SessionOut>('GET', '/console/api/session');
  expect(body.accounts).toMatchObject([{ requires_mfa: true }]);
  await setUpTotp(member);
  expect((await member.call('GET', '/v1/instances')).status).toBe(200);
});

describe('a set-up', () => {
  const start = (browser: Browser, password: string | null) =>
    browser.call<{ secret: string }>('POST', PROFILE, { body: { password } });
  const confirm = (browser: Browser, secret: string) =>
    browser.call('POST', `${PROFILE}/confirm`, { body: { code: new Authenticator(secret).code() } });
  let browser: Browser;
  beforeEach(async () => {
    user = await createUser(api);
    browser = await browserOf(api, user);
  });

  test('needs the password, also in a new session', async () => {
    expect(outcome(await start(browser, null))).toBe('invalid-credentials');
    expect(outcome(await start(browser, 'another password'))).toBe('invalid-credentials');
    const { totpSealed } = await api.db.user.findUniqueOrThrow({ where: { id: user.id } });
    expect(totpSealed).toBeNull();
    expect(outcome(await start(browser, PASSWORD))).toBe(200);
  });

  test('is locked after wrong passwords, like a sign-in', async () => {
    for (let n = 0; n < 10; n++) expect(outcome(await start(browser, 'wrong'))).toBe('invalid-credentials');
    expect(outcome(await start(browser, PASSWORD))).toBe('login-locked');
  });

  test('of a person without a password needs a sign-in of the last 15 minutes', async () => {
    await api.db.user.update({ where: { id: user.id }, data: { passwordHash: null } });
    expect(outcome(await start(browser, null))).toBe(200);
    await api.db.userSession.updateMany({
      where: { userId: user.id },
      data: { createdAt: new Date(Date.now() - 16 * 60_000) },
    });
    expect(outcome(await start(browser, null))).toBe('recent-sign-in-required');
  });

  test('must be confirmed within 5 minutes', async () => {
    const { secret } = (await start(browser, PASSWORD)).body;
    await api.db.user.update({
      where: { id: user.id },
      data: { totpStartedAt: new Date(Date.now() - 301_000) },
    });
    expect(outcome(await confirm(browser, secret))).toBe('mfa-setup-not-started');
    const again = (await start(browser, PASSWORD)).body;
    expect(outcome(await confirm(browser, secret))).toBe('invalid-code');
    expect(outcome(await confirm(browser, again.secret))).toBe(200);
  });

  describe('that an account requires', () => {
    beforeEach(async () => {
      const account = await api.account();
      await api.db.account.update({ where: { id: account.id }, data: { requiresMfa: true } });
      await addMember(api, account, { userId: user.id, role: 'viewer' });
    });
    const afterSignIn = async () => {
      const signedIn = new Browser(api);
      expect(outcome(await signedIn.signIn(user.email))).toBe(200);
      return signedIn;
    };
    const addPasskey = (by: Browser) =>
      by.call('POST', '/console/api/profile/passkeys/options', { body: { password: PASSWORD } });

    test('cannot begin with a sign-in by password', async () => {
      const signedIn = await afterSignIn();
      expect(outcome(await start(signedIn, PASSWORD))).toBe('mfa-needs-link');
      expect(outcome(await addPasskey(signedIn))).toBe('mfa-needs-link');
    });

    test('cannot begin so for an administrator of the platform', async () => {
      await api.db.member.deleteMany({ where: { userId: user.id } });
      await api.db.user.update({ where: { id: user.id }, data: { isPlatformAdmin: true } });
      expect(outcome(await start(await afterSignIn(), PASSWORD))).toBe('mfa-needs-link');
    });

    test('begins with a sign-in by a link', async () => {
      const { url } = await createHandoff(api.db, user.id, { baseUrl: 'http://127.0.0.1', seconds: 60 });
      const signedIn = new Browser(api);
      expect(outcome(await signedIn.open('/handoff', { token: url.split('token=')[1] }))).toBe(200);
      await setUpTotp(signedIn);
    });

    test('begins with a password by a link, for 30 minutes', async () => {
      const token = newToken();
      const tokenHash = hashToken(token);
      const expiresAt = new Date(Date.now() + 60_000);
      await api.db.handoff.create({
        data: { id: newUuid(), userId: user.id, purpose: 'reset', tokenHash, expiresAt },
      });
      const body = { token, password: PASSWORD };
      const redeem = await new Browser(api).call('POST', '/console/api/password-resets/redeem', { body });
      expect(redeem.status).toBe(204);
      const signedIn = await afterSignIn();
      expect(outcome(await addPasskey(signedIn))).toBe(200);
      expect(outcome(await start(signedIn, PASSWORD))).toBe(200);
      await api.db.user.update({ where: { id: user.id }, data: { factorSetUpUntil: new Date() } });
      expect(outcome(await start(signedIn, PASSWORD))).toBe('mfa-needs-link');
    });

    test('begins with a sign-in by password if there is a factor already', async () => {
      const { app: own } = await setUpTotp(browser);
      const signedIn = await afterPassword();
      expect(outcome(await send(signedIn, own.code(1)))).toBe(200);
      expect(outcome(await addPasskey(signedIn))).toBe(200);
    });
  });
});
