import { generateKeyPairSync } from 'node:crypto';
import type { ProblemBody } from '@gwk/core/problems/problems';
import { setUpTotp } from '@gwk/test/support/api/authenticator';
import type { Answer } from '@gwk/test/support/api/client';
import {
  Browser,
  browserOf,
  createUser,
  openBrowser,
  PASSWORD,
  type TestUser,
} from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import { addPasskey, registerPasskey, TestPasskey, type Options } from '@gwk/test/support/api/passkey';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { createHandoff } from '../sign-in/handoffs.js';

/** An API of its own, because refused passkeys count as failures of the address. */
let api: TestApi;
let user: TestUser;
let profile: Browser & { user: TestUser };
let passkey: TestPasskey;

beforeAll(async () => {
  api = await openApi({ settings: { GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000' } });
});
beforeEach(async () => {
  await api.db.signInFailure.deleteMany();
  user = await createUser(api);
  profile = await browserOf(api, user);
  passkey = await registerPasskey(profile);
});
afterAll(() => api.stop());

const codeOf = ({ body }: Answer<unknown>) => (body as ProblemBody).type.split('/').at(-1);
const outcome = (answer: Answer<unknown>) => (answer.status < 300 ? answer.status : codeOf(answer));
const isOpen = async (browser: Browser) => (await browser.call('GET', '/console/api/session')).status === 200;

const ask = async (browser: Browser, path = '/passkey') =>
  (await browser.call<Options>('POST', `/console/api/session${path}/options`)).body;
const answerWith = (browser: Browser, credential: unknown, path = '/passkey') =>
  browser.open(path, { credential });

/** Signs in by a passkey, in a browser without a session. */
async function signIn(by = passkey, browser = new Browser(api)) {
  return answerWith(browser, by.get(await ask(browser)));
}

/** A browser after a right password. */
async function afterPassword(of = user): Promise<Browser> {
  const browser = new Browser(api);
  const answer = await browser.signIn(of.email);
  expect([answer.status, codeOf(answer)]).toEqual([401, 'mfa-required']);
  return browser;
}
async function complete(browser: Browser, by = passkey) {
  return answerWith(browser, by.get(await ask(browser, '/second-factor')), '/second-factor');
}

describe('without a password', () => {
  test('signs in, also a person with codes of an app', async () => {
    await setUpTotp(profile);
    const browser = new Browser(api);
    const { status, body } = await signIn(passkey, browser);
    expect([status, body.user.email, body.user.has_passkey]).toEqual([200, user.email, true]);
    expect(await isOpen(browser)).toBe(true);
  });

  test('names no person before the passkey has answered', async () => {
    expect(await ask(new Browser(api))).toMatchObject({ allowCredentials: [], userVerification: 'required' });
  });

  test('refuses a passkey that has not verified the person', async () => {
    passkey.verifiesPerson = false;
    const answer = await signIn();
    expect([answer.status, codeOf(answer)]).toEqual([401, 'invalid-credentials']);
  });

  test('accepts an answer once, also of two at once', async () => {
    const browser = new Browser(api);
    const credential = passkey.get(await ask(browser));
    const answers = await Promise.all([1, 2, 3].map(() => answerWith(new Browser(api), credential)));
    expect(answers.map(outcome).sort()).toEqual([200, 'invalid-credentials', 'invalid-credentials']);
    expect(outcome(await answerWith(browser, credential))).toBe('invalid-credentials');
  });

  test('uses the challenge up although the answer is wrong', async () => {
    const browser = new Browser(api);
    const options = await ask(browser);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const right = passkey.get(options);
    const wrong = new TestPasskey();
    Object.assign(wrong, { id: passkey.id, key: privateKey });
    expect(outcome(await answerWith(browser, wrong.get(options)))).toBe('invalid-credentials');
    expect(outcome(await answerWith(browser, right))).toBe('invalid-credentials');
  });

  test.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['an unknown passkey', { id: 'AAAA' }],
    ['the handle of another person', { userHandle: Buffer.alloc(16).toString('base64url') }],
  ])('refuses an answer with %s', async (_, fault) => {
    Object.assign(passkey, fault);
    expect(outcome(await signIn())).toBe('invalid-credentials');
  });

  test('refuses an answer for another host', async () => {
    const browser = new Browser(api);
    const options = await ask(browser);
    expect(outcome(await answerWith(browser, passkey.get({ ...options, rpId: 'evil.example' })))).toBe(
      'invalid-credentials',
    );
  });

  test('refuses challenges that are late, invented or of a registration', async () => {
    const late = await ask(new Browser(api));
    const expiresAt = new Date(Date.now() - 1);
    await api.db.passkeyChallenge.updateMany({ data: { expiresAt } });
    const { body: registration } = await profile.call<Options>(
      'POST',
      '/console/api/profile/passkeys/options',
      {
        body: { password: PASSWORD },
      },
    );
    for (const challenge of [late.challenge, registration.challenge, 'AAAA', '']) {
      const credential = passkey.get({ challenge, rpId: '127.0.0.1' });
      expect(outcome(await answerWith(new Browser(api), credential))).toBe('invalid-credentials');
    }
  });

  test('refuses a counter that goes back or repeats, and accepts one that stays 0', async () => {
    expect(outcome(await signIn())).toBe(200);
    expect(outcome(await signIn())).toBe(200);
    passkey.counter = 7;
    expect(outcome(await signIn())).toBe(200);
    for (const counter of [7, 6, 0]) {
      passkey.counter = counter;
      expect(outcome(await signIn())).toBe('invalid-credentials');
    }
    passkey.counter = 8;
    expect(outcome(await signIn())).toBe(200);
  });

  test('locks a passkey after 10 failures, and not the password', async () => {
    passkey.verifiesPerson = false;
    for (let n = 0; n < 10; n++) expect(outcome(await signIn())).toBe('invalid-credentials');
    passkey.verifiesPerson = true;
    const answer = await signIn();
    expect([answer.status, codeOf(answer)]).toEqual([429, 'login-locked']);
    await afterPassword();
  });
});

describe('as second factor', () => {
  test('completes a sign-in by password, also without verifying the person', async () => {
    passkey.verifiesPerson = false;
    const browser = await afterPassword();
    expect(await isOpen(browser)).toBe(false);
    expect(await ask(browser, '/second-factor')).toMatchObject({ allowCredentials: [{ id: passkey.id }] });
    expect(outcome(await complete(browser))).toBe(200);
    expect(await isOpen(browser)).toBe(true);
  });

  test('the refusal names the factors that the person has', async () => {
    const factors = async () => {
      const { body } = await new Browser(api).signIn(user.email);
      return (body as unknown as ProblemBody).factors;
    };
    expect(await factors()).toEqual(['passkey']);
    await setUpTotp(profile);
    expect(await factors()).toEqual(['totp', 'passkey']);
  });

  test('completes a sign-in by link', async () => {
    const { url } = await createHandoff(api.db, user.id, { baseUrl: 'http://127.0.0.1', seconds: 60 });
    const browser = new Browser(api);
    expect(outcome(await browser.open('/handoff', { token: url.split('token=')[1] }))).toBe('mfa-required');
    expect(outcome(await complete(browser))).toBe(200);
  });

  test('refuses the passkey of another person', async () => {
    const other = await registerPasskey(await browserOf(api, await createUser(api)));
    expect(outcome(await complete(await afterPassword(), other))).toBe('invalid-code');
  });

  test('refuses an answer to the challenge of another sign-in', async () => {
    const [one, other] = [await afterPassword(), await afterPassword()];
    const credential = passkey.get(await ask(one, '/second-factor'));
    expect(outcome(await answerWith(other, credential, '/second-factor'))).toBe('invalid-code');
    const [bare] = [passkey.get(await ask(new Browser(api)))];
    expect(outcome(await answerWith(other, bare, '/second-factor'))).toBe('invalid-code');
  });

  test('counts failures together with wrong codes', async () => {
    const browser = await afterPassword();
    for (let n = 0; n < 10; n++)
      expect(outcome(await browser.open('/code', { code: '000000' }))).toBe('invalid-code');
    expect(outcome(await complete(browser))).toBe('login-locked');
  });

  test('needs a sign-in that waits, and a passkey', async () => {
    const start = (browser: Browser) => browser.call('POST', '/console/api/session/second-factor/options');
    expect(outcome(await start(new Browser(api)))).toBe('mfa-not-pending');
    const credential = passkey.get(await ask(await afterPassword(), '/second-factor'));
    expect(outcome(await answerWith(new Browser(api), credential, '/second-factor'))).toBe('mfa-not-pending');
    user = await createUser(api);
    await setUpTotp(await browserOf(api, user));
    expect(outcome(await start(await afterPassword()))).toBe('mfa-setup-not-started');
  });

  test('satisfies an account that requires a second factor', async () => {
    const account = await api.account();
    const owner = await openBrowser(api, account);
    const demand = () => owner.call('PATCH', '/console/api/account', { body: { requires_mfa: true } });
    expect(outcome(await demand())).toBe('mfa-not-verified');
    await registerPasskey(owner);
    expect(outcome(await demand())).toBe(200);
    expect((await owner.call('GET', '/v1/instances')).status).toBe(200);
    const member = await openBrowser(api, account, 'viewer');
    expect(outcome(await member.call('GET', '/v1/instances'))).toBe('mfa-not-verified');
  });
});

const path = '/console/api/profile/passkeys';

describe('removing a passkey', () => {
  async function remove(password: string | null) {
    const { body } = await profile.call<{ data: { id: string }[] }>('GET', path);
    return profile.call('POST', `${path}/${body.data[0]!.id}/remove`, { body: { password } });
  }

  test('ends its sign-ins', async () => {
    expect(outcome(await remove('a wrong password'))).toBe('invalid-credentials');
    expect(outcome(await remove(PASSWORD))).toBe(204);
    expect(outcome(await signIn())).toBe('invalid-credentials');
    expect(outcome(await new Browser(api).signIn(user.email))).toBe(200);
  });

  test('is locked after 10 wrong passwords, as adding one is', async () => {
    for (let n = 0; n < 10; n++)
      expect(outcome(await remove('a wrong password'))).toBe('invalid-credentials');
    const start = { body: { password: PASSWORD } };
    for (const answer of [await remove(PASSWORD), await profile.call('POST', `${path}/options`, start)])
      expect([answer.status, codeOf(answer)]).toEqual([429, 'login-locked']);
  });

  test('needs a recent sign-in of a person without a password', async () => {
    await api.db.user.update({ where: { id: user.id }, data: { passwordHash: null } });
    const createdAt = new Date(Date.now() - 16 * 60_000);
    await api.db.userSession.updateMany({ where: { userId: user.id }, data: { createdAt } });
    const answer = await remove(null);
    expect([answer.status, codeOf(answer)]).toEqual([403, 'recent-sign-in-required']);
  });
});

describe('adding a passkey', () => {
  const start = (browser: Browser, body: unknown = { password: PASSWORD }) =>
    browser.call<Options>('POST', `${path}/options`, { body });
  const create = (browser: Browser, credential: unknown) =>
    browser.call('POST', path, { body: { name: 'Phone', credential } });

  test('needs the password, so that a stolen session cannot add one', async () => {
    for (const body of [{}, { password: null }, { password: 'a wrong password' }])
      expect(outcome(await start(profile, body))).toBe('invalid-credentials');
    expect(await api.db.signInFailure.count()).toBe(3);
  });

  test('needs no password of a person without one who has just signed in', async () => {
    await api.db.user.update({ where: { id: user.id }, data: { passwordHash: null } });
    expect(outcome(await start(profile, {}))).toBe(200);
  });

  test('ends other sessions, and lists the passkey by its name', async () => {
    const elsewhere = await browserOf(api, user);
    expect(outcome(await create(profile, new TestPasskey().create((await start(profile)).body)))).toBe(201);
    expect([await isOpen(profile), await isOpen(elsewhere)]).toEqual([true, false]);
    expect((await profile.call('GET', path)).body).toMatchObject({
      data: [
        { name: 'Notebook', host: '127.0.0.1', last_used_at: null },
        { name: 'Phone', host: '127.0.0.1' },
      ],
    });
  });

  test('refuses challenges of other sessions, and each challenge the second time', async () => {
    const other = await browserOf(api, user);
    const { body: options } = await start(profile);
    const fresh = new TestPasskey();
    expect(outcome(await create(other, fresh.create(options)))).toBe('mfa-setup-not-started');
    expect(outcome(await create(profile, fresh.create(options)))).toBe(201);
    expect(outcome(await create(profile, new TestPasskey().create(options)))).toBe('mfa-setup-not-started');
  });

  test('refuses the 21st passkey, also if it was started earlier', async () => {
    const { body: options } = await start(profile);
    for (let n = 1; n < 20; n++) await addPasskey(api, user);
    const answer = await create(profile, new TestPasskey().create(options));
    expect([answer.status, codeOf(answer)]).toEqual([409, 'too-many-passkeys']);
  });

  test('refuses a passkey of another person', async () => {
    const thief = await browserOf(api, await createUser(api));
    const { body: options } = await start(thief);
    expect(outcome(await create(thief, passkey.create(options)))).toBe('invalid-code');
    expect(outcome(await signIn())).toBe('invalid-credentials');
    passkey.userHandle = undefined;
    expect((await signIn()).body.user.email).toBe(user.email);
  });

  test.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['certificates, which name addresses to fetch', { attestation: ['packed', new Map([['x5c', []]])] }],
    ['a format with certificates', { attestation: ['android-safetynet', new Map()] }],
  ])('refuses an answer with %s', async (_, fault) => {
    const fresh = Object.assign(new TestPasskey(), fault);
    expect(outcome(await create(profile, fresh.create((await start(profile)).body)))).toBe('invalid-code');
  });
});
