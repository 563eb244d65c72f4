import type { z } from 'zod';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { ProfileSessionList } from '../resources/console/profile.js';
import { Browser, browserOf, createUser, PASSWORD, type TestUser } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';

let api: TestApi;
let user: TestUser;
let browser: Browser;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  user = await createUser(api);
  browser = await browserOf(api, user);
});

const PATH = '/console/api/profile';
const NEW_PASSWORD = 'nine green turtles';
const codeOf = (answer: { body: unknown }) => (answer.body as ProblemBody).type.split('/').at(-1);
const change = (body: object) => browser.call('POST', `${PATH}/password`, { body });
/** Entries of the user, without those of sign-ins. */
const readAudit = async () =>
  (
    await api.db.auditEntry.findMany({
      where: { actor: `user:${user.id}`, subject: user.id, action: { not: 'user.sign-in' } },
      orderBy: { id: 'asc' },
    })
  ).map(({ action, detail }) => [action, detail]);
const isOpen = async (one: Browser) => (await one.call('GET', '/console/api/session')).status === 200;

test('changes name and language', async () => {
  const answer = await browser.call('PATCH', PATH, { body: { name: 'Ana Lima', language: 'en' } });
  expect(answer).toMatchObject({
    status: 200,
    body: { name: 'Ana Lima', language: 'en', email: user.email },
  });
  expect((await browser.call('PATCH', PATH, { body: { language: 'de' } })).status).toBe(422);
  for (const body of [{}, { name: 'Ana Lima' }]) await browser.call('PATCH', PATH, { body });
  expect(await readAudit()).toEqual([['user.update', { name: 'Ana Lima', language: 'en' }]]);
});

test('a changed password ends all other sessions and links, and the old one no longer works', async () => {
  const other = await browserOf(api, user);
  await api.db.handoff.create({
    data: {
      id: user.id,
      userId: user.id,
      tokenHash: new Uint8Array(1),
      expiresAt: new Date(Date.now() + 60_000),
    },
  });
  expect((await change({ current: PASSWORD, password: NEW_PASSWORD })).status).toBe(204);
  expect([await isOpen(browser), await isOpen(other)]).toEqual([true, false]);
  expect(await api.db.handoff.count({ where: { userId: user.id } })).toBe(0);
  expect((await new Browser(api).signIn(user.email)).status).toBe(401);
  expect((await new Browser(api).signIn(user.email, NEW_PASSWORD)).status).toBe(200);
});

test('a stolen session cannot change the password without the current one', async () => {
  for (const current of ['a wrong password', null]) {
    expect(codeOf(await change({ current, password: NEW_PASSWORD }))).toBe('invalid-credentials');
  }
  expect((await new Browser(api).signIn(user.email)).status).toBe(200);
});

test('failed changes of the password count as failed sign-ins', async () => {
  for (let n = 0; n < 10; n++) await change({ current: 'a wrong password', password: NEW_PASSWORD });
  const answer = await change({ current: PASSWORD, password: NEW_PASSWORD });
  expect([answer.status, codeOf(answer)]).toEqual([429, 'login-locked']);
});

test('a person without a password sets the first one', async () => {
  await api.db.user.update({ where: { id: user.id }, data: { passwordHash: null } });
  expect(codeOf(await change({ password: user.email }))).toBe('weak-password');
  expect(codeOf(await change({ password: 'Senha@123456' }))).toBe('weak-password');
  expect((await change({ password: NEW_PASSWORD })).status).toBe(204);
  expect((await new Browser(api).signIn(user.email, NEW_PASSWORD)).status).toBe(200);
});

test('a stolen session sets no first password later than 15 minutes after the sign-in', async () => {
  await api.db.user.update({ where: { id: user.id }, data: { passwordHash: null } });
  const createdAt = new Date(Date.now() - 16 * 60_000);
  await api.db.userSession.updateMany({ where: { userId: user.id }, data: { createdAt } });
  const answer = await change({ password: NEW_PASSWORD });
  expect([answer.status, codeOf(answer)]).toEqual([403, 'recent-sign-in-required']);
});

test('lists the own sessions, and ends one of them', async () => {
  const other = await browserOf(api, user);
  const stranger = await browserOf(api, await createUser(api));
  const { body } = await browser.call<z.output<typeof ProfileSessionList>>('GET', `${PATH}/sessions`);
  expect(body.data.map(({ is_current }) => is_current)).toEqual([false, true]);
  const [first] = body.data;
  expect(codeOf(await stranger.call('DELETE', `${PATH}/sessions/${first!.id}`))).toBe('not-found');
  expect((await browser.call('DELETE', `${PATH}/sessions/${first!.id}`)).status).toBe(204);
  expect([await isOpen(browser), await isOpen(other), await isOpen(stranger)]).toEqual([true, false, true]);
  await browser.call('DELETE', '/console/api/session');
  expect(await readAudit()).toEqual([
    ['user.session-end', { address: '127.0.0.1' }],
    ['user.sign-out', {}],
  ]);
});

test('lists no session that ended because nobody used it', async () => {
  await browserOf(api, user);
  const lastSeenAt = new Date(Date.now() - 13 * 3_600_000);
  await api.db.userSession.updateMany({ where: { userId: user.id }, data: { lastSeenAt } });
  const current = await browserOf(api, user);
  const { body } = await current.call<z.output<typeof ProfileSessionList>>('GET', `${PATH}/sessions`);
  expect(body.data.map(({ is_current }) => is_current)).toEqual([true]);
});
