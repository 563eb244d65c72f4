import type { z } from 'zod';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { CreatedInvitation, InvitationOut } from '../resources/console/member.js';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { Browser, browserOf, createUser, openBrowser, PASSWORD } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { Answer } from '@gwk/test/support/api/client';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';

type Created = z.output<typeof CreatedInvitation>;

let api: TestApi;
let account: TestAccount;
let owner: Browser;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  owner = await openBrowser(api, account);
});

const PATH = '/console/api/invitations';
const outcome = (answer: Answer<unknown>) =>
  answer.status < 300 ? answer.status : (answer.body as ProblemBody).type.split('/').at(-1);
const newEmail = () => `${newUuid()}@example.org`;

async function invite(email: string, more: object = {}) {
  const { status, body } = await owner.call<Created>('POST', PATH, {
    body: { email, role: 'agent', ...more },
  });
  expect([status, body.email]).toEqual([201, email]);
  const [page, token] = body.url.split('#token=');
  expect(page).toBe('http://127.0.0.1:8080/console/invitation');
  return { id: body.id, token: token! };
}

const accept = (browser: Browser, token: string, more: object = { name: 'Eva', password: PASSWORD }) =>
  browser.call('POST', `${PATH}/accept`, { body: { token, ...more } });
const list = async () =>
  (await owner.call<{ data: z.output<typeof InvitationOut>[] }>('GET', PATH)).body.data;

test('a new person accepts with name and password, and is signed in as a member', async () => {
  const email = newEmail();
  const { id, token } = await invite(email);
  expect((await list()).map((row) => row.id)).toEqual([id]);
  const browser = new Browser(api);
  for (const [more, problem] of [
    [{}, 'validation-error'],
    [{ name: 'Eva', password: 'short' }, 'weak-password'],
    [{ name: 'Eva', password: 'admin1234567' }, 'weak-password'],
  ] as const) {
    expect(outcome(await accept(browser, token, more))).toBe(problem);
  }
  const answer = await accept(browser, token);
  expect(answer.body).toMatchObject({ user: { email, name: 'Eva' }, accounts: [{ role: 'agent' }] });
  expect((await browser.use(account).call('GET', '/v1/instances')).status).toBe(200);
  expect(await list()).toEqual([]);
  expect(outcome(await accept(new Browser(api), token))).toBe('invitation-invalid');
  expect((await new Browser(api).signIn(email)).status).toBe(200);
  const { id: subject } = await api.db.user.findUniqueOrThrow({ where: { email } });
  const entries = await api.db.auditEntry.findMany({ where: { subject }, orderBy: { id: 'asc' } });
  expect(entries.map(({ action, accountId, actor }) => [action, accountId, actor])).toEqual([
    ['user.create', account.id, `user:${subject}`],
    ['member.join', account.id, `user:${subject}`],
    ['user.sign-in', null, `user:${subject}`],
    ['user.sign-in', null, `user:${subject}`],
  ]);
});

test.each([
  ['is removed', (path: string) => owner.call('DELETE', path)],
  ['is demoted', (path: string) => owner.call('PATCH', path, { body: { role: 'developer' } })],
  ['is restricted', (path: string) => owner.call('PATCH', path, { body: { instance_ids: [] } })],
])('open invitations end when an admin %s', async (_, change) => {
  const admin = await openBrowser(api, account, 'admin');
  const { token } = await invite(newEmail());
  const path = `/console/api/members/${toPublicId('user', admin.user.id)}`;
  expect((await change(path)).status).toBeLessThan(300);
  expect(outcome(await accept(new Browser(api), token))).toBe('invitation-invalid');
  expect(await list()).toEqual([]);
});

test('invitations of owners end when an owner becomes an admin, and the others stay', async () => {
  const second = await openBrowser(api, account, 'owner');
  const kept = await invite(newEmail());
  const { token } = await invite(newEmail(), { role: 'owner' });
  const path = `/console/api/members/${toPublicId('user', second.user.id)}`;
  expect((await owner.call('PATCH', path, { body: { role: 'admin' } })).status).toBe(200);
  expect(outcome(await accept(new Browser(api), token))).toBe('invitation-invalid');
  expect((await list()).map((row) => row.id)).toEqual([kept.id]);
});

test('open invitations stay when somebody who cannot invite is removed', async () => {
  const agent = await openBrowser(api, account, 'agent');
  const { id } = await invite(newEmail());
  await owner.call('DELETE', `/console/api/members/${toPublicId('user', agent.user.id)}`);
  expect((await list()).map((row) => row.id)).toEqual([id]);
});

test('a known person signs in first', async () => {
  const user = await createUser(api);
  const { token } = await invite(user.email);
  expect(outcome(await accept(new Browser(api), token))).toBe('user-exists');
  expect(outcome(await accept(await browserOf(api, await createUser(api)), token))).toBe('user-exists');
  const browser = await browserOf(api, user);
  expect(outcome(await accept(browser, token, {}))).toBe(200);
  expect((await browser.use(account).call('GET', '/v1/instances')).status).toBe(200);
});

test('only an acceptance shows whether an e-mail has a user', async () => {
  for (const email of [newEmail(), (await createUser(api)).email]) {
    const { token } = await invite(email);
    expect(outcome(await accept(new Browser(api), token, {}))).toBe('validation-error');
    expect(outcome(await accept(new Browser(api), token, { name: 'Eva', password: 'short' }))).not.toBe(200);
  }
});

test('an account invites at most 100 persons a day', async () => {
  const entry = { accountId: account.id, actor: 'user:x', action: 'invitation.create', subject: 'x' };
  const rows = Array.from({ length: 99 }, () => ({ ...entry, id: newUuid() }));
  await api.db.auditEntry.createMany({ data: rows });
  const last = await invite(newEmail());
  const answer = await owner.call('POST', PATH, { body: { email: newEmail(), role: 'agent' } });
  expect([answer.status, outcome(answer)]).toEqual([429, 'rate-limited']);
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(23 * 3_600);
  expect((await list()).map(({ id }) => id)).toEqual([last.id]);
});

test('an admin can neither revoke nor replace nor end the invitation of an owner', async () => {
  const [admin, other] = [await openBrowser(api, account, 'admin'), await openBrowser(api, account, 'admin')];
  const email = newEmail();
  const { id } = await invite(email, { role: 'owner' });
  expect(outcome(await admin.call('DELETE', `${PATH}/${id}`))).toBe('forbidden');
  expect(outcome(await admin.call('POST', PATH, { body: { email, role: 'viewer' } }))).toBe('forbidden');
  const path = `/console/api/members/${toPublicId('user', other.user.id)}`;
  expect(outcome(await admin.call('DELETE', path))).toBe(204);
  expect((await list()).map((row) => [row.id, row.role])).toEqual([[id, 'owner']]);
  expect(outcome(await owner.call('DELETE', `${PATH}/${id}`))).toBe(204);
});

test('a link is accepted once, also by two requests at once', async () => {
  const { token } = await invite(newEmail());
  const answers = await Promise.all([1, 2, 3].map(() => accept(new Browser(api), token)));
  const codes = answers.map(outcome);
  expect(codes.filter((code) => code === 200)).toHaveLength(1);
  expect(codes.every((code) => [200, 'user-exists', 'invitation-invalid'].includes(code!))).toBe(true);
  expect(await api.db.member.count({ where: { accountId: account.id } })).toBe(2);
});

test('late, revoked, replaced and unknown links are refused alike', async () => {
  const late = await invite(newEmail());
  await api.db.invitation.updateMany({ where: { accountId: account.id }, data: { expiresAt: new Date() } });
  expect(await list()).toEqual([]);
  const revoked = await invite(newEmail());
  expect(outcome(await owner.call('DELETE', `${PATH}/${revoked.id}`))).toBe(204);
  expect(outcome(await owner.call('DELETE', `${PATH}/${revoked.id}`))).toBe('not-found');
  const email = newEmail();
  const replaced = await invite(email);
  await invite(email);
  for (const token of [late.token, revoked.token, replaced.token, 'unknown']) {
    expect(outcome(await accept(new Browser(api), token))).toBe('invitation-invalid');
  }
});

test('members are not invited again, and cannot join twice', async () => {
  const user = await createUser(api);
  const { token } = await invite(user.email);
  const body = { email: user.email.toUpperCase(), role: 'viewer' };
  await api.db.member.create({ data: { accountId: account.id, userId: user.id, role: 'viewer' } });
  expect(outcome(await owner.call('POST', PATH, { body }))).toBe('already-member');
  expect(outcome(await accept(await browserOf(api, user), token, {}))).toBe('already-member');
});

test('an invitation restricts the member to its instances', async () => {
  const made = await owner.call<{ id: string }>('POST', '/v1/instances', {
    body: { name: 'one', kind: 'sandbox' },
  });
  await owner.call('POST', '/v1/instances', { body: { name: 'other', kind: 'sandbox' } });
  const { token } = await invite(newEmail(), { instance_ids: [made.body.id] });
  const browser = new Browser(api);
  await accept(browser, token);
  const seen = await browser.use(account).call<{ data: { id: string }[] }>('GET', '/v1/instances');
  expect(seen.body.data.map(({ id }) => id)).toEqual([made.body.id]);
});

test('the token of an invitation is stored as its hash only', async () => {
  const { token } = await invite(newEmail());
  const rows = await api.db.invitation.findMany({ where: { accountId: account.id } });
  expect(JSON.stringify(rows)).not.toContain(token);
});
