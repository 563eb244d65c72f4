import { newUuid } from '@gwk/core/ids/ids';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { Answer } from '@gwk/test/support/api/client';
import { addMember, Browser, createUser, openBrowser } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { startMailServer, type MailServer } from '@gwk/test/support/servers/mail-server';
import {
  followRedirects,
  TestOidcProvider,
  type ProvidedClaims,
} from '@gwk/test/support/servers/oidc-provider';

const SESSION = '/console/api/session';

let provider: TestOidcProvider;
let server: MailServer;
/** An API without passwords, which e-mails. */
let api: TestApi;
/** An account whose roles no claim decides, and one of the other kind. */
let account: TestAccount;
let claimed: TestAccount;

beforeAll(async () => {
  provider = await TestOidcProvider.start(['http://127.0.0.1:8080/console/oidc']);
  server = await startMailServer();
  api = await openApi({
    settings: {
      ...provider.settings,
      ...server.settings,
      GWK_API_OIDC_PASSWORDS: 'off',
      GWK_API_OIDC_CLAIM: 'groups',
      GWK_API_OIDC_ROLES: JSON.stringify({ staff: [{ account: 'claimed', role: 'agent' }] }),
    },
  });
  account = await api.account();
  claimed = await api.account();
  await api.db.account.update({ where: { id: claimed.id }, data: { name: 'claimed' } });
});
afterAll(async () => {
  await api.stop();
  await server.stop();
  await provider.stop();
});

interface Created {
  url: string;
  emailed: boolean | null;
}

const outcome = ({ status, body }: Answer<unknown>) =>
  status < 300 ? status : (body as ProblemBody).type.split('/').at(-1);
const tokenOf = ({ url }: Created) => url.split('#token=')[1];

async function invite(email: string, to = account): Promise<Created> {
  const owner = await openBrowser(api, to);
  const body = { email, role: 'agent' };
  return (await owner.call<Created>('POST', '/console/api/invitations', { body })).body;
}

const newPerson = (claims: Partial<ProvidedClaims> = {}): ProvidedClaims => {
  const sub = newUuid();
  return { sub, email: `${sub}@example.org`, email_verified: true, name: 'Bia Lima', ...claims };
};

async function signIn(person: ProvidedClaims, browser = new Browser(api)) {
  provider.person = person;
  const { body } = await browser.call<{ url: string }>('POST', `${SESSION}/provider`);
  const { search } = await followRedirects(body.url);
  return browser.open('/provider/answer', { query: search.slice(1) });
}

const emailOf = (person: ProvidedClaims) => person['email'] as string;
const countInvitations = (email: string) => api.db.invitation.count({ where: { email } });
const countUsers = (email: string) => api.db.user.count({ where: { email } });

test('an invited person is told to sign in with the provider, and is a member then', async () => {
  const person = newPerson();
  const invited = await invite(emailOf(person));
  expect(invited.emailed).toBe(true);
  expect(server.mails.at(-1)!.text).toContain('Entre com SSO e este e-mail.');
  const acceptance = { body: { token: tokenOf(invited), name: 'Eva', password: 'another long password' } };
  const refused = await new Browser(api).call('POST', '/console/api/invitations/accept', acceptance);
  expect(outcome(refused)).toBe('passwords-off');
  const { status, body } = await signIn(person);
  expect([status, body.accounts.map(({ name, role }) => [name, role])]).toEqual([
    200,
    [[account.name, 'agent']],
  ]);
  expect(await api.db.invitation.count({ where: { email: emailOf(person) } })).toBe(0);
  const joined = { accountId: account.id, action: 'member.join', subject: { not: '' } };
  const entry = await api.db.auditEntry.findFirstOrThrow({ where: joined, orderBy: { id: 'desc' } });
  expect(entry.detail).toEqual({ role: 'agent' });
  expect((await signIn(person)).body.accounts).toHaveLength(1);
});

test('a person with an account joins no other one unasked', async () => {
  const user = await createUser(api);
  await addMember(api, account, { userId: user.id, role: 'viewer' });
  const other = await api.account();
  const invited = await invite(user.email, other);
  const browser = new Browser(api);
  const { body } = await signIn(newPerson({ email: user.email }), browser);
  expect(body.accounts.map(({ name, role }) => [name, role])).toEqual([[account.name, 'viewer']]);
  const accepted = await browser.call('POST', '/console/api/invitations/accept', {
    body: { token: tokenOf(invited) },
  });
  expect(outcome(accepted)).toBe(200);
});

test('a person whose domain may not sign in is not invited', async () => {
  const owner = await openBrowser(api, account);
  const body = { email: 'bia@example.net', role: 'agent' };
  const refused = await owner.call('POST', '/console/api/invitations', { body });
  expect(outcome(refused)).toBe('validation-error');
  expect(await countInvitations('bia@example.net')).toBe(0);
});

test.each<[string, Partial<ProvidedClaims>]>([
  ['whose e-mail is not verified', { email_verified: false }],
  ['with another e-mail', { email: `${newUuid()}@example.org` }],
])('a person %s accepts no invitation', async (_, claims) => {
  const person = newPerson();
  await invite(emailOf(person));
  expect(outcome(await signIn({ ...person, ...claims }))).toBe('no-account');
  expect(await countUsers(emailOf(person))).toBe(0);
});

test('a revoked or late invitation, and one whose account the claim decides, give nothing', async () => {
  const person = newPerson();
  const email = emailOf(person);
  await invite(email, claimed);
  await invite(email);
  await api.db.invitation.updateMany({
    where: { email, accountId: account.id },
    data: { expiresAt: new Date(Date.now() - 1) },
  });
  expect(outcome(await signIn(person))).toBe('no-account');
  await api.db.invitation.deleteMany({ where: { email, accountId: account.id } });
  expect(outcome(await signIn(person))).toBe('no-account');
  expect(await countUsers(email)).toBe(0);
});

test('two first sign-ins at once accept an invitation once', async () => {
  const person = newPerson();
  await invite(emailOf(person));
  provider.person = person;
  const browsers = [new Browser(api), new Browser(api)];
  const queries: string[] = [];
  for (const browser of browsers) {
    const { body } = await browser.call<{ url: string }>('POST', `${SESSION}/provider`);
    queries.push((await followRedirects(body.url)).search.slice(1));
  }
  const answers = await Promise.all(
    browsers.map((browser, n) => browser.open('/provider/answer', { query: queries[n]! })),
  );
  expect(answers.map(outcome)).toEqual([200, 200]);
  expect(
    await api.db.member.count({ where: { accountId: account.id, user: { email: emailOf(person) } } }),
  ).toBe(1);
});

test('a request for another password sends nothing and leaves no link', async () => {
  const user = await createUser(api);
  const sent = server.mails.length;
  const browser = new Browser(api);
  const answer = await browser.call('POST', '/console/api/password-resets', { body: { email: user.email } });
  expect(outcome(answer)).toBe('passwords-off');
  expect(await api.db.handoff.count({ where: { userId: user.id } })).toBe(0);
  expect(server.mails).toHaveLength(sent);
  expect((await browser.call(`GET`, `${SESSION}/methods`)).body).toMatchObject({ password_reset: false });
});
