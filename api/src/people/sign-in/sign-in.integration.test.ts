import type { ProblemBody } from '@gwk/core/problems/problems';
import { toPublicId } from '@gwk/core/ids/ids';
import { ROLE_RIGHTS } from '../../roles.js';
import {
  Browser,
  browserOf,
  createUser,
  addMember,
  openBrowser,
  PASSWORD,
} from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { Answer } from '@gwk/test/support/api/client';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { createHandoff } from './handoffs.js';

let api: TestApi;

beforeAll(async () => {
  api = await sharedApi();
});

const SESSION = '/console/api/session';
const codeOf = ({ body }: Answer<unknown>) => (body as ProblemBody).type.split('/').at(-1);
const outcome = (answer: Answer<unknown>) =>
  answer.status < 300 ? answer.status : [answer.status, codeOf(answer)];

test('signs in by password and shows person, accounts and roles', async () => {
  const account = await api.account();
  const user = await createUser(api);
  await addMember(api, account, { userId: user.id, role: 'developer' });
  const browser = new Browser(api);
  const { status, body, headers } = await browser.signIn(user.email.toUpperCase());
  expect(status).toBe(200);
  expect(body.user).toEqual({
    id: toPublicId('user', user.id),
    email: user.email,
    name: 'Ana',
    language: 'pt-BR',
    is_platform_admin: false,
    has_totp: false,
    has_passkey: false,
    has_password: true,
  });
  expect(body.accounts).toEqual([
    {
      id: toPublicId('account', account.id),
      name: account.name,
      role: 'developer',
      ...ROLE_RIGHTS.developer,
      instance_ids: null,
      requires_mfa: false,
    },
  ]);
  expect(headers['set-cookie']![0]).toMatch(
    /^gwk_session=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/,
  );
  expect((await browser.call('GET', SESSION)).body).toEqual({
    ...body,
    expires_at: expect.any(String) as string,
  });
});

test('stores only the hash of a session token', async () => {
  const user = await createUser(api);
  const browser = new Browser(api);
  await browser.signIn(user.email);
  const [row] = await api.db.userSession.findMany({ where: { userId: user.id } });
  const token = browser.headers['cookie']!.split('=')[1]!;
  expect(JSON.stringify(row)).not.toContain(token);
  expect(row!.tokenHash).toHaveLength(32);
});

test('answers an unknown e-mail, a wrong password and a user without password alike', async () => {
  const user = await createUser(api);
  const without = await createUser(api);
  await api.db.user.update({ where: { id: without.id }, data: { passwordHash: null } });
  const answers = await Promise.all(
    ['nobody@example.org', user.email, without.email].map((email) => new Browser(api).signIn(email, 'wrong')),
  );
  const shown = answers.map(({ status, body, headers }) => {
    const problem = { ...(body as unknown as ProblemBody), request_id: '' };
    return [status, problem, Object.keys(headers).sort()];
  });
  expect(shown[0]).toEqual(shown[1]);
  expect(shown[0]).toEqual(shown[2]);
  expect(outcome(answers[0]!)).toEqual([401, 'invalid-credentials']);
});

test('gives the session a new token at each sign-in, and ends the one of the cookie', async () => {
  const user = await createUser(api);
  const browser = new Browser(api);
  await browser.signIn(user.email);
  const before = { ...browser.headers };
  await browser.signIn(user.email);
  expect(browser.headers['cookie']).not.toBe(before['cookie']);
  expect(outcome(await browser.call('GET', SESSION, { headers: before }))).toEqual([401, 'unauthorized']);
  expect(outcome(await browser.call('GET', SESSION))).toBe(200);
});

test('never adopts the token of a cookie that it did not issue', async () => {
  const user = await createUser(api);
  const browser = new Browser(api);
  const planted = `gwk_session=${'A'.repeat(43)}`;
  browser.headers['cookie'] = planted;
  expect((await browser.signIn(user.email)).status).toBe(200);
  expect(browser.headers['cookie']).not.toBe(planted);
  expect(outcome(await new Browser(api).call('GET', SESSION, { headers: { cookie: planted } }))).toEqual([
    401,
    'unauthorized',
  ]);
});

test('a cookie is worthless after the sign-out', async () => {
  const user = await createUser(api);
  const browser = new Browser(api);
  await browser.signIn(user.email);
  const stolen = { ...browser.headers };
  const out = await browser.call('DELETE', SESSION);
  expect([out.status, out.headers['set-cookie']![0]]).toEqual([
    204,
    'gwk_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
  ]);
  expect(outcome(await browser.call('GET', SESSION, { headers: stolen }))).toEqual([401, 'unauthorized']);
  expect(outcome(await browser.call('DELETE', SESSION, { headers: stolen }))).toEqual([401, 'unauthorized']);
});

test.each([
  ['12 hours without a request', { lastSeenAt: new Date(Date.now() - 12 * 3_600_000 - 1_000) }],
  ['7 days', { expiresAt: new Date(Date.now() - 1_000) }],
])('a session ends after %s', async (_, data) => {
  const browser = await browserOf(api, await createUser(api));
  await api.db.userSession.updateMany({ where: { userId: browser.user.id }, data });
  expect(outcome(await browser.call('GET', SESSION))).toEqual([401, 'unauthorized']);
});

test('a request extends the idle time of its session', async () => {
  const browser = await browserOf(api, await createUser(api));
  const where = { userId: browser.user.id };
  const lastSeenAt = new Date(Date.now() - 3_600_000);
  await api.db.userSession.updateMany({ where, data: { lastSeenAt } });
  await browser.call('GET', SESSION);
  const { lastSeenAt: after } = await api.db.userSession.findFirstOrThrow({ where });
  expect(after.getTime()).toBeGreaterThan(lastSeenAt.getTime());
});

describe('hand-off', () => {
  const makeToken = async (userId: string, seconds = 60) => {
    const { url } = await createHandoff(api.db, userId, { baseUrl: 'http://127.0.0.1:8080/', seconds });
    const [page, token] = url.split('#token=');
    expect(page).toBe('http://127.0.0.1:8080/console/handoff');
    return token!;
  };

  test('signs in once', async () => {
    const user = await createUser(api);
    const token = await makeToken(user.id);
    const browser = new Browser(api);
    expect((await browser.open('/handoff', { token })).body.user.email).toBe(user.email);
    expect((await browser.call('GET', SESSION)).status).toBe(200);
    expect(outcome(await new Browser(api).open('/handoff', { token }))).toEqual([401, 'handoff-invalid']);
  });

  test('of two uses at once only one signs in', async () => {
    const token = await makeToken((await createUser(api)).id);
    const answers = await Promise.all([1, 2, 3].map(() => new Browser(api).open('/handoff', { token })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
  });

  test('refuses a late or unknown token', async () => {
    const late = await makeToken((await createUser(api)).id, -1);
    for (const token of [late, 'unknown']) {
      expect(outcome(await new Browser(api).open('/handoff', { token }))).toEqual([401, 'handoff-invalid']);
    }
  });
});

describe('requests by session to the HTTP interface', () => {
  test('act for the account that they name, and only for accounts of the person', async () => {
    const account = await api.account();
    const browser = await openBrowser(api, account);
    const made = await browser.call<{ id: string }>('POST', '/v1/instances', {
      body: { name: 'mine', kind: 'sandbox' },
    });
    expect(made.status).toBe(201);
    const entry = await api.db.auditEntry.findFirstOrThrow({
      where: { accountId: account.id, action: 'instance.create' },
    });
    expect(entry.actor).toBe(`user:${browser.user.id}`);
    browser.use(await api.account());
    expect(outcome(await browser.call('GET', `/v1/instances/${made.body.id}`))).toEqual([403, 'no-account']);
    delete browser.headers['x-gwk-account'];
    expect(outcome(await browser.call('GET', '/v1/instances'))).toEqual([403, 'no-account']);
  });

  test('a platform administrator may name each account', async () => {
    const browser = await browserOf(api, await createUser(api, { isPlatformAdmin: true }));
    browser.use(await api.account());
    expect((await browser.call('GET', '/v1/instances')).status).toBe(200);
  });

  test('opt-outs have the source panel', async () => {
    const browser = await openBrowser(api, await api.account(), 'agent');
    const { status, body } = await browser.call<{ source: string }>('POST', '/v1/opt-outs', {
      body: { phone: '5511987654321' },
    });
    expect([status, body.source]).toEqual([201, 'panel']);
  });

  test('a restricted member sees only its instances', async () => {
    const account = await api.account();
    const owner = await openBrowser(api, account);
    const create = (name: string) =>
      owner.call<{ id: string }>('POST', '/v1/instances', { body: { name, kind: 'sandbox' } });
    const [one, other] = [(await create('one')).body.id, (await create('other')).body.id];
    const row = await api.db.instance.findFirstOrThrow({ where: { accountId: account.id, name: 'one' } });
    const member = await openBrowser(api, account, 'agent', [row.id]);
    expect((await member.call('GET', `/v1/instances/${one}`)).status).toBe(200);
    expect(outcome(await member.call('GET', `/v1/instances/${other}`))).toEqual([404, 'not-found']);
    const session = await member.call<{ accounts: { instance_ids: string[] }[] }>('GET', SESSION);
    expect(session.body.accounts[0]!.instance_ids).toEqual([one]);
  });

  test('an API key is not a session: operations of the console refuse it', async () => {
    const client = await api.clientOf(await api.account());
    expect(outcome(await client.call('GET', SESSION))).toEqual([401, 'unauthorized']);
  });

  test('the credentials of a proxy do not hide the cookie', async () => {
    const browser = await openBrowser(api, await api.account());
    const headers = { authorization: 'Basic YW5hOmFuYQ==' };
    expect((await browser.call('GET', '/v1/instances', { headers })).status).toBe(200);
  });

  test('answers to a session are stored nowhere', async () => {
    const browser = await openBrowser(api, await api.account());
    for (const path of ['/v1/instances', '/console/api/members', '/v1/messages/absent']) {
      expect((await browser.call('GET', path)).headers['cache-control']).toBe('no-store');
    }
  });

  test('a wrong key is not replaced by a cookie', async () => {
    const browser = await openBrowser(api, await api.account());
    const headers = { authorization: 'Bearer gwk_live_x' };
    expect(outcome(await browser.call('GET', '/v1/instances', { headers }))).toEqual([401, 'unauthorized']);
  });
});

test('the password of a user opens no session of another user', async () => {
  const [one, other] = [await createUser(api), await createUser(api)];
  await api.db.user.update({ where: { id: other.id }, data: { passwordHash: null } });
  expect((await new Browser(api).signIn(one.email, PASSWORD)).status).toBe(200);
  expect(outcome(await new Browser(api).signIn(other.email, PASSWORD))).toEqual([401, 'invalid-credentials']);
});

test('a link shows its person as often as wanted, and only while it is valid', async () => {
  const user = await createUser(api);
  const { url } = await createHandoff(api.db, user.id, { baseUrl: 'http://127.0.0.1', seconds: 60 });
  const token = url.split('token=')[1]!;
  const show = (given: string) =>
    new Browser(api).call('POST', '/console/api/session/handoff/person', { body: { token: given } });
  for (let n = 0; n < 2; n++) expect((await show(token)).body).toEqual({ email: user.email, name: 'Ana' });
  expect((await new Browser(api).open('/handoff', { token })).status).toBe(200);
  for (const given of [token, 'unknown']) expect((await show(given)).status).toBe(401);
});
