import { processClock } from '@gwk/core/clock';
import { loadConfig } from '@gwk/core/config/load';
import { oidcSettings } from '../../config/oidc.js';
import { proxySettings } from '@gwk/core/config/proxy';
import { createLogger } from '@gwk/core/process/log';
import type { ProblemBody } from '@gwk/core/problems/problems';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { setUpTotp } from '@gwk/test/support/api/authenticator';
import type { Answer } from '@gwk/test/support/api/client';
import { addMember, Browser, browserOf, createUser } from '@gwk/test/support/api/console';
import { openApi, sharedApi } from '@gwk/test/support/api/open-api';
import { registerPasskey, TestPasskey } from '@gwk/test/support/api/passkey';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import {
  followRedirects,
  TestOidcProvider,
  type ProvidedClaims,
} from '@gwk/test/support/servers/oidc-provider';
import { hashToken, newToken } from '../../accounts/sessions.js';
import { openProvider } from './provider.js';

const ORIGIN = 'http://127.0.0.1:8080';
const SESSION = '/console/api/session';
const ROLES = {
  staff: [{ account: 'oidc-shop', role: 'agent' }],
  leads: [{ account: 'oidc-shop', role: 'admin' }],
  owners: [{ account: 'oidc-shop', role: 'owner' }],
};

/** A real provider, and an API of its own. */
let provider: TestOidcProvider;
let api: TestApi;
let account: TestAccount;
let subjects = 0;

beforeAll(async () => {
  provider = await TestOidcProvider.start([`${ORIGIN}/console/oidc`]);
  api = await openApi({
    settings: {
      ...provider.settings,
      GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000',
      GWK_API_OIDC_CLAIM: 'groups',
      GWK_API_OIDC_ROLES: JSON.stringify(ROLES),
    },
  });
  account = await api.account();
  await api.db.account.update({ where: { id: account.id }, data: { name: 'oidc-shop' } });
});
beforeEach(async () => {
  await api.db.signInFailure.deleteMany();
  await api.db.member.deleteMany({ where: { accountId: account.id } });
});
afterAll(async () => {
  await api.stop();
  await provider.stop();
});

const codeOf = ({ body }: Answer<unknown>) => (body as ProblemBody).type.split('/').at(-1);
const outcome = (answer: Answer<unknown>) => (answer.status < 300 ? answer.status : codeOf(answer));

function newPerson(claims: Record<string, unknown> = {}): ProvidedClaims {
  const sub = `person-${++subjects}`;
  const more = { email_verified: true, name: 'Bia Lima', groups: ['staff'] };
  return { sub, email: `${sub}@example.org`, ...more, ...claims };
}

/** Starts a sign-in in the browser. Returns the query with which the provider sends it back. */
async function visitProvider(browser: Browser, person: ProvidedClaims | null): Promise<string> {
  provider.person = person;
  const { body } = await browser.call<{ url: string }>('POST', `${SESSION}/provider`);
  const back = await followRedirects(body.url);
  expect(back.origin + back.pathname).toBe(`${ORIGIN}/console/oidc`);
  return back.search.slice(1);
}
const finish = (browser: Browser, query: string) => browser.open('/provider/answer', { query });

async function signIn(person: ProvidedClaims | null, browser = new Browser(api)) {
  return finish(browser, await visitProvider(browser, person));
}

test('a new person gets the role of the claim, and another one at the next sign-in', async () => {
  const person = newPerson();
  const roleAfter = async (groups: unknown) => {
    const { status, body } = await signIn({ ...person, groups });
    expect(status).toBe(200);
    return body.accounts.map(({ id, role }) => [id, role]);
  };
  const id = toPublicId('account', account.id);
  expect(await roleAfter(['staff', 'others'])).toEqual([[id, 'agent']]);
  expect(await roleAfter(['staff', 'leads'])).toEqual([[id, 'admin']]);
  expect(await roleAfter('staff')).toEqual([[id, 'agent']]);
  expect(await api.db.user.count({ where: { email: person['email'] as string } })).toBe(1);
});

test('the session ends rights that the claim takes, and an open session loses the role', async () => {
  const person = newPerson();
  const browser = new Browser(api);
  expect(outcome(await signIn(person, browser))).toBe(200);
  browser.use(account);
  expect((await browser.call('GET', '/v1/instances')).status).toBe(200);
  expect(outcome(await signIn({ ...person, groups: [] }))).toBe('no-account');
  expect(outcome(await browser.call('GET', '/v1/instances'))).toBe('no-account');
});

test.each([
  ['whom the claim gives nothing', { groups: ['others'] }],
  ['without the claim', { groups: undefined }],
  ['whose e-mail is not verified', { email_verified: false }],
  ['whose e-mail says nothing about that', { email_verified: undefined }],
  ['whose e-mail reads like a link', { email: 'x.y/entrar?u=1@example.org' }],
  ['whose e-mail has an invisible character', { email: 'ana\u200B@example.org' }],
  ['whose e-mail mixes scripts', { email: 'owner\u0430@example.org' }],
  ['of another domain', { email: 'eve@example.org.evil.example' }],
  ['with two domains', { email: 'eve@evil.example@example.org' }],
])('a person %s gets no account and no user', async (_, claims) => {
  const person = newPerson(claims);
  const answer = await signIn(person);
  expect([answer.status, codeOf(answer)]).toEqual([403, 'no-account']);
  expect(await api.db.user.count({ where: { email: person['email'] as string } })).toBe(0);
});

test('a known user keeps accounts that the claim does not name, and loses what a former holder could sign in with', async () => {
  const user = await createUser(api);
  const other = await api.account();
  await addMember(api, other, { userId: user.id, role: 'viewer' });
  const former = await browserOf(api, user);
  await registerPasskey(former);
  await setUpTotp(former);
  const { status, body } = await signIn(newPerson({ email: user.email.toUpperCase(), groups: [] }));
  expect([status, body.user.has_totp, body.user.has_passkey, body.user.has_password]).toEqual([
    200,
    false,
    false,
    false,
  ]);
  expect(body.accounts.map(({ name, role }) => [name, role])).toEqual([[other.name, 'viewer']]);
  expect(outcome(await former.call('GET', SESSION))).toBe('unauthorized');
  expect(outcome(await new Browser(api).signIn(user.email))).toBe('invalid-credentials');
});

test('an e-mail that the provider gives to another person opens nothing', async () => {
  const person = newPerson();
  expect(outcome(await signIn(person))).toBe(200);
  expect(outcome(await signIn(newPerson({ email: person['email'] })))).toBe('no-account');
});

test('a second factor that a person sets up afterwards is asked for', async () => {
  const person = newPerson();
  const browser = new Browser(api);
  await signIn(person, browser);
  await setUpTotp(browser);
  expect(outcome(await signIn(person))).toBe('mfa-required');
});

test('invitations end with a role that could make them', async () => {
  const invite = () =>
    api.db.invitation.create({
      data: {
        id: newUuid(),
        accountId: account.id,
        email: 'second@example.com',
        role: 'agent',
        tokenHash: hashToken(newToken()),
        expiresAt: new Date(Date.now() + 60_000),
      },
    });
  const count = () => api.db.invitation.count({ where: { accountId: account.id } });
  const [lead, agent] = [newPerson({ groups: ['leads'] }), newPerson()];
  for (const person of [lead, agent]) expect(outcome(await signIn(person))).toBe(200);
  await invite();
  expect(outcome(await signIn({ ...agent, groups: [] }))).toBe('no-account');
  expect(await count()).toBe(1);
  expect(outcome(await signIn({ ...lead, groups: ['staff'] }))).toBe(200);
  expect(await count()).toBe(0);
  expect(outcome(await signIn(lead))).toBe(200);
  await invite();
  expect(outcome(await signIn({ ...lead, groups: [] }))).toBe('no-account');
  expect(await count()).toBe(0);
});

test('the last owner keeps the role', async () => {
  const person = newPerson({ groups: ['owners'] });
  expect(outcome(await signIn(person))).toBe(200);
  const { body } = await signIn({ ...person, groups: [] });
  expect(body.accounts[0]!.role).toBe('owner');
});

describe('an answer of the provider', () => {
  test('signs in once, also of two uses at once', async () => {
    const browser = new Browser(api);
    const query = await visitProvider(browser, newPerson());
    const copies = [1, 2, 3].map(() => Object.assign(new Browser(api), { headers: { ...browser.headers } }));
    const answers = await Promise.all(copies.map((copy) => finish(copy, query)));
    expect(answers.map(outcome).sort()).toEqual([200, 'invalid-credentials', 'invalid-credentials']);
  });

  test('of another browser is refused, so that nobody signs another person in', async () => {
    const query = await visitProvider(new Browser(api), newPerson());
    const victim = new Browser(api);
    expect(outcome(await finish(victim, query))).toBe('invalid-credentials');
    await visitProvider(victim, newPerson());
    expect(outcome(await finish(victim, query))).toBe('invalid-credentials');
  });

  test('is refused if it is late, cancelled, invented or of another issuer', async () => {
    expect(outcome(await signIn(null))).toBe('invalid-credentials');
    const late = new Browser(api);
    const query = await visitProvider(late, newPerson());
    await api.db.providerSignIn.updateMany({ data: { expiresAt: new Date(Date.now() - 1) } });
    expect(outcome(await finish(late, query))).toBe('invalid-credentials');
    for (const change of [
      (given: URLSearchParams) => given.set('code', 'invented'),
      (given: URLSearchParams) => given.set('state', 'invented'),
      (given: URLSearchParams) => given.set('iss', 'https://evil.example'),
      (given: URLSearchParams) => given.delete('code'),
    ]) {
      const browser = new Browser(api);
      const changed = new URLSearchParams(await visitProvider(browser, newPerson()));
      change(changed);
      expect(outcome(await finish(browser, changed.toString()))).toBe('invalid-credentials');
    }
  });

  test('is refused after 10 wrong ones of the same sign-in', async () => {
    const browser = new Browser(api);
    const query = await visitProvider(browser, newPerson());
    const copy = () => Object.assign(new Browser(api), { headers: { ...browser.headers } });
    for (let n = 0; n < 10; n++)
      expect(outcome(await finish(copy(), 'code=invented'))).toBe('invalid-credentials');
    const answer = await finish(copy(), query);
    expect([answer.status, codeOf(answer)]).toEqual([429, 'login-locked']);
  });

  test('goes to the origin of the console that started it, and to no other', async () => {
    const browser = new Browser(api);
    browser.headers['origin'] = 'https://evil.example';
    expect(outcome(await browser.call('POST', `${SESSION}/provider`))).toBe('origin-not-allowed');
  });
});

test('uses a rotated client secret at once', async () => {
  const redirectUri = `${ORIGIN}/console/oidc`;
  let secret: string | undefined = 'a former secret';
  const settings = { ...oidcSettings, ...proxySettings('GWK_API', 'tests') };
  const config = { ...loadConfig(settings, provider.settings), oidcClientSecret: () => secret };
  const client = openProvider(config, processClock, createLogger('test', 'silent'))!;
  const readClaims = async () => {
    const token = newToken();
    provider.person = newPerson();
    const { search } = await followRedirects(await client.buildUrl(token, redirectUri));
    return client.readClaims(token, { redirectUri, query: search.slice(1) });
  };
  expect(await readClaims()).toBeNull();
  secret = provider.clientSecret;
  expect(await readClaims()).toMatchObject({ sub: provider.person!.sub });
  secret = undefined;
  expect(await readClaims()).toBeNull();
});

test('a provider that is down refuses its sign-ins only', async () => {
  const gone = await TestOidcProvider.start([]);
  const { settings } = gone;
  await gone.stop();
  const other = await openApi({ settings });
  try {
    const answer = await new Browser(other).call('POST', `${SESSION}/provider`);
    expect([answer.status, codeOf(answer), answer.headers['retry-after']]).toEqual([
      503,
      'provider-unavailable',
      '5',
    ]);
    expect((await new Browser(other).signIn((await createUser(other)).email)).status).toBe(200);
  } finally {
    await other.stop();
  }
});

test('an answer that the provider cannot confirm any more is refused', async () => {
  const stopping = await TestOidcProvider.start([`${ORIGIN}/console/oidc`]);
  const other = await openApi({ settings: stopping.settings });
  try {
    const browser = new Browser(other);
    stopping.person = newPerson();
    const { body } = await browser.call<{ url: string }>('POST', `${SESSION}/provider`);
    const { search } = await followRedirects(body.url);
    await stopping.stop();
    const answer = await finish(browser, search.slice(1));
    expect([answer.status, codeOf(answer)]).toEqual([503, 'provider-unavailable']);
  } finally {
    await other.stop();
  }
});

test('with passwords off only the provider and one-time links sign in', async () => {
  const closed = await openApi({ settings: { ...provider.settings, GWK_API_OIDC_PASSWORDS: 'off' } });
  try {
    const user = await createUser(closed);
    const browser = new Browser(closed);
    expect((await browser.call('GET', `${SESSION}/methods`)).body).toEqual({
      password: false,
      passkey: false,
      password_reset: false,
      provider: { name: 'SSO' },
    });
    const answer = await browser.signIn(user.email);
    expect([answer.status, codeOf(answer)]).toEqual([403, 'passwords-off']);
    expect(outcome(await browser.call('POST', `${SESSION}/passkey/options`))).toBe('passwords-off');
    const profile = await browserOf(closed, user);
    const body = { password: 'another long password' };
    expect(outcome(await profile.call('POST', '/console/api/profile/password', { body }))).toBe(
      'passwords-off',
    );
    const reset = await browser.call('POST', '/console/api/password-resets', { body: { email: user.email } });
    expect(outcome(reset)).toBe('passwords-off');
    const redemption = { body: { token: newToken(), password: body.password } };
    expect(outcome(await browser.call('POST', '/console/api/password-resets/redeem', redemption))).toBe(
      'passwords-off',
    );
    const credential = new TestPasskey().get({ challenge: 'AAAA', rpId: '127.0.0.1' });
    expect(outcome(await browser.open('/passkey', { credential }))).toBe('passwords-off');
  } finally {
    await closed.stop();
  }
});

test('a gateway without a provider has no such sign-in', async () => {
  const browser = new Browser(await sharedApi());
  expect(outcome(await browser.call('POST', `${SESSION}/provider`))).toBe('not-found');
  expect(outcome(await finish(browser, 'code=a&state=b'))).toBe('not-found');
});
