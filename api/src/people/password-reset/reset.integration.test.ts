import type { ProblemBody } from '@gwk/core/problems/problems';
import { setUpTotp } from '@gwk/test/support/api/authenticator';
import type { Answer } from '@gwk/test/support/api/client';
import { Browser, browserOf, createUser, PASSWORD, type TestUser } from '@gwk/test/support/api/console';
import { openApi, sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { startMailServer, type MailServer } from '@gwk/test/support/servers/mail-server';
import { until } from '@gwk/test/support/wait';
import { createHandoff } from '../sign-in/handoffs.js';

let server: MailServer;
let api: TestApi;
let user: TestUser;

beforeAll(async () => {
  server = await startMailServer();
  const settings = { ...server.settings, GWK_API_TRUST_PROXY: '1' };
  api = await openApi({ settings: { ...settings, GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000' } });
});
beforeEach(async () => {
  user = await createUser(api);
  server.mails.length = 0;
});
afterAll(async () => {
  await api.stop();
  await server.stop();
});

const PATH = '/console/api/password-resets';
const NEW_PASSWORD = 'nine green turtles';
const outcome = (answer: Answer<unknown>) =>
  answer.status < 300 ? answer.status : (answer.body as ProblemBody).type.split('/').at(-1);

let address = 0;
function request(email: string, from = `10.9.${Math.floor(address / 250)}.${(address++ % 250) + 1}`) {
  const browser = new Browser(api);
  browser.headers['x-forwarded-for'] = from;
  return browser.call('POST', PATH, { body: { email } });
}
const redeem = (token: string, password = NEW_PASSWORD) =>
  new Browser(api).call('POST', `${PATH}/redeem`, { body: { token, password } });

const mailsTo = (email: string) => server.mails.filter(({ to }) => to[0] === email);

/** Requests a link, and waits for its mail. */
async function requestToken(): Promise<string> {
  const before = mailsTo(user.email).length;
  expect(outcome(await request(user.email))).toBe(204);
  const mail = await until(() => mailsTo(user.email)[before], { what: 'the mail arrives' });
  const [, token] = /http:\/\/127\.0\.0\.1:8080\/console\/password-reset#token=([\w-]{43})/.exec(mail.text)!;
  return token!;
}

test('a link sets a new password once, and ends all sessions and links', async () => {
  const open = await browserOf(api, user);
  await createHandoff(api.db, user.id, { baseUrl: 'http://127.0.0.1', seconds: 60 });
  const token = await requestToken();
  expect(JSON.stringify(await api.db.handoff.findMany())).not.toContain(token);
  expect(outcome(await redeem(token, 'short'))).toBe('weak-password');
  expect(outcome(await redeem(token, 'password1234'))).toBe('weak-password');
  expect(outcome(await redeem(token))).toBe(204);
  expect(outcome(await redeem(token))).toBe('handoff-invalid');
  expect((await open.call('GET', '/console/api/session')).status).toBe(401);
  expect(await api.db.handoff.count({ where: { userId: user.id } })).toBe(0);
  expect(outcome(await new Browser(api).signIn(user.email))).toBe('invalid-credentials');
  expect(outcome(await new Browser(api).signIn(user.email, NEW_PASSWORD))).toBe(200);
  const entries = await api.db.auditEntry.findMany({ where: { subject: user.id } });
  expect(entries.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['user.reset-request', 'user.password']),
  );
  expect(JSON.stringify(entries)).not.toMatch(new RegExp(`${token}|${NEW_PASSWORD}`));
});

test('of two uses at once only one sets the password', async () => {
  const token = await requestToken();
  const answers = await Promise.all([
    redeem(token, 'a quieter path home'),
    redeem(token, 'green tractor sings loud'),
  ]);
  expect(answers.map(outcome).sort()).toEqual([204, 'handoff-invalid']);
});

test('late, replaced and unknown links are refused, and links for sign-in', async () => {
  const replaced = await requestToken();
  const late = await requestToken();
  const [row] = await api.db.handoff.findMany({ where: { userId: user.id } });
  const minutes = (row!.expiresAt.getTime() - Date.now()) / 60_000;
  expect(minutes).toBeGreaterThan(20);
  expect(minutes).toBeLessThanOrEqual(30);
  await api.db.handoff.updateMany({ where: { userId: user.id }, data: { expiresAt: new Date() } });
  const { url } = await createHandoff(api.db, user.id, { baseUrl: 'http://127.0.0.1', seconds: 60 });
  for (const token of [replaced, late, 'unknown', url.split('token=')[1]!]) {
    expect(outcome(await redeem(token))).toBe('handoff-invalid');
  }
});

test('a link for a new password signs nobody in', async () => {
  const token = await requestToken();
  expect(outcome(await new Browser(api).open('/handoff', { token }))).toBe('handoff-invalid');
  expect(outcome(await redeem(token))).toBe(204);
});

test('the second factor stays', async () => {
  const { app } = await setUpTotp(await browserOf(api, user));
  expect(outcome(await redeem(await requestToken()))).toBe(204);
  const browser = new Browser(api);
  expect(outcome(await browser.signIn(user.email, NEW_PASSWORD))).toBe('mfa-required');
  expect(outcome(await browser.open('/code', { code: app.code(1) }))).toBe(200);
});

test('ends a lock of the password', async () => {
  for (let n = 0; n < 10; n++) await new Browser(api).signIn(user.email, 'wrong');
  expect(outcome(await new Browser(api).signIn(user.email))).toBe('login-locked');
  expect(outcome(await redeem(await requestToken()))).toBe(204);
  expect(outcome(await new Browser(api).signIn(user.email, NEW_PASSWORD))).toBe(200);
});

test('answers known and unknown e-mails before it looks the user up', async () => {
  const answers = await api.db.$transaction(async (tx) => {
    await tx.$executeRaw`LOCK TABLE users, handoffs, audit_entries IN ACCESS EXCLUSIVE MODE`;
    return [await request(user.email), await request('nobody@example.org')];
  });
  const shown = answers.map(({ status, body, headers }) => [status, body, Object.keys(headers).sort()]);
  expect(shown[0]).toEqual(shown[1]);
  expect(answers[0]!.status).toBe(204);
  await until(() => mailsTo(user.email).length === 1, { what: 'the mail arrives' });
  expect(server.mails.flatMap(({ to }) => to)).toEqual([user.email]);
});

test('sends at most 3 mails an hour to a person, and answers all the same', async () => {
  for (let n = 0; n < 3; n++) await requestToken();
  expect(outcome(await request(user.email))).toBe(204);
  const other = await createUser(api);
  expect(outcome(await request(other.email))).toBe(204);
  await until(() => mailsTo(other.email).length === 1, { what: 'a later mail arrives' });
  expect(mailsTo(user.email)).toHaveLength(3);
});

test('a request beyond the limit does not extend it', async () => {
  const age = () => api.db.$executeRaw`UPDATE sign_in_failures SET at = at - make_interval(mins => 35)`;
  for (let n = 0; n < 3; n++) await requestToken();
  await age();
  expect(outcome(await request(user.email))).toBe(204);
  await age();
  for (let n = 0; n < 3; n++) await requestToken();
  let asked = 0;
  const ask = () => request(`stranger-${asked++}@example.org`, '10.8.0.2');
  for (let n = 0; n < 20; n++) await ask();
  await age();
  expect(outcome(await ask())).toBe('rate-limited');
  await age();
  expect(outcome(await ask())).toBe(204);
});

test('an address may ask 20 times an hour, and still sign in', async () => {
  for (let n = 0; n < 20; n++) {
    expect(outcome(await request(`nobody-${n}@example.org`, '10.8.0.1'))).toBe(204);
  }
  const answer = await request(user.email, '10.8.0.1');
  expect([answer.status, outcome(answer)]).toEqual([429, 'rate-limited']);
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(45 * 60);
  const browser = new Browser(api);
  browser.headers['x-forwarded-for'] = '10.8.0.1';
  expect(outcome(await browser.signIn(user.email, PASSWORD))).toBe(200);
});

test('the sign-in page learns whether there are links', async () => {
  const readMethods = async (one: TestApi) =>
    (await new Browser(one).call('GET', '/console/api/session/methods')).body;
  const others = { password: true, passkey: true, provider: null };
  expect(await readMethods(api)).toEqual({ ...others, password_reset: true });
  const without = await sharedApi();
  expect(await readMethods(without)).toEqual({ ...others, password_reset: false });
  const answer = await new Browser(without).call('POST', PATH, { body: { email: user.email } });
  expect(outcome(answer)).toBe('not-found');
});

test('a mail that is not sent is in the audit log, and the answer is the same', async () => {
  const down = await startMailServer();
  const other = await openApi({ settings: down.settings });
  await down.stop();
  try {
    const { id, email } = await createUser(other);
    const answers = [email, 'nobody@example.org'].map((to) =>
      new Browser(other).call('POST', PATH, { body: { email: to } }),
    );
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([204, 204]);
    const entry = await until(
      () => other.db.auditEntry.findFirst({ where: { subject: id, action: 'user.reset-not-sent' } }),
      { what: 'the failure is in the audit log' },
    );
    expect(entry.detail).toEqual({ code: 'ESOCKET' });
  } finally {
    await other.stop();
  }
});
