import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { newUuid } from '@gwk/core/ids/ids';
import type { ProblemBody } from '@gwk/core/problems/problems';
import { Authenticator, setUpTotp } from '@gwk/test/support/api/authenticator';
import type { Answer } from '@gwk/test/support/api/client';
import { Browser, browserOf, createUser, PASSWORD, type TestUser } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import { TestPasskey, type Options } from '@gwk/test/support/api/passkey';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { until } from '@gwk/test/support/wait';
import { hashToken, newToken } from '../../accounts/sessions.js';
import type { Prisma } from '../../generated/prisma/client.js';
import { newTotp } from '../second-factor.js';
import { createHandoff } from './handoffs.js';

/** Requests that are under way while password or second factor change: the change decides. */
let api: TestApi;
let user: TestUser;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  user = await createUser(api);
});

const outcome = (answer: Answer<unknown>) =>
  answer.status < 300 ? answer.status : (answer.body as ProblemBody).type.split('/').at(-1);
const countSessions = () => api.db.userSession.count({ where: { userId: user.id } });

/** Runs the request until it waits for the change, or has ended without waiting; then commits the change. */
async function changeDuring<T>(
  data: Prisma.UserUpdateInput,
  request: () => Promise<Answer<T>>,
): Promise<Answer<T>> {
  let answer: Promise<Answer<T>> | undefined;
  let ended = false;
  await api.db.$transaction(async (tx) => {
    await tx.user.update({ where: { id: user.id }, data });
    answer = request().finally(() => (ended = true));
    // Outside the transaction, which would see the activity of its first look only.
    const isWaiting = async () => {
      const waiting = await api.db.$queryRaw<unknown[]>`
        SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return waiting.length > 0 || ended;
    };
    await until(isWaiting, { what: 'the request waits for the change' });
    // Not before: a challenge would end with its session, and its use would wait for that instead.
    await tx.userSession.deleteMany({ where: { userId: user.id } });
  });
  return answer!;
}

const confirmTotp = () => {
  const sealer = new Sealer(parseEncryptionKeys(api.encryptionKeys));
  return { totpConfirmedAt: new Date(), totpSealed: newTotp(sealer, user).sealed };
};
const CHANGES: [what: string, change: () => Prisma.UserUpdateInput][] = [
  ['the password', () => ({ passwordHash: 'another' })],
  ['the second factor', confirmTotp],
];

test.each(CHANGES)('a right password opens no session if %s changes meanwhile', async (_, change) => {
  const answer = await changeDuring(change(), () => new Browser(api).signIn(user.email));
  expect(outcome(answer)).toBe('invalid-credentials');
  expect(await countSessions()).toBe(0);
});

test.each(CHANGES)('a link opens no session if %s changes meanwhile', async (_, change) => {
  const { url } = await createHandoff(api.db, user.id, { baseUrl: 'http://127.0.0.1', seconds: 60 });
  const token = url.split('token=')[1];
  const answer = await changeDuring(change(), () => new Browser(api).open('/handoff', { token }));
  expect(outcome(answer)).toBe('handoff-invalid');
  expect(await countSessions()).toBe(0);
});

describe('with a second factor', () => {
  let app: Authenticator;
  let browser: Browser;

  beforeEach(async () => {
    ({ app } = await setUpTotp(await browserOf(api, user)));
    browser = new Browser(api);
    expect(outcome(await browser.signIn(user.email))).toBe('mfa-required');
  });

  test.each([
    ['the password', { passwordHash: 'another' }],
    ['the second factor', { totpConfirmedAt: null, totpSealed: null }],
  ])('a right code opens no session if %s changes meanwhile', async (_, data) => {
    const answer = await changeDuring(data, () => browser.open('/code', { code: app.code(1) }));
    expect(['mfa-not-pending', 'invalid-code']).toContain(outcome(answer));
    expect(await countSessions()).toBe(0);
  });

  test('a right password waits for no code if the password changes meanwhile', async () => {
    const answer = await changeDuring({ passwordHash: 'another' }, () => new Browser(api).signIn(user.email));
    expect(outcome(answer)).toBe('invalid-credentials');
    expect(await countSessions()).toBe(0);
  });

  test('the removal of the second factor ends sign-ins that wait for a code', async () => {
    const signedIn = await browserOf(api, user);
    const body = { code: app.code(1) };
    expect(outcome(await signedIn.call('POST', '/console/api/profile/totp/remove', { body }))).toBe(204);
    expect(outcome(await browser.open('/code', { code: '123456' }))).toBe('mfa-not-pending');
    expect(outcome(await new Browser(api).signIn(user.email))).toBe(200);
  });
});

test.each([true, false])(
  'of 50 newer sign-ins (waiting for a code: %s) only like ones end',
  async (pending) => {
    const browser = await browserOf(api, user);
    await api.db.userSession.createMany({
      data: Array.from({ length: 50 }, () => ({
        id: newUuid(),
        userId: user.id,
        tokenHash: hashToken(newToken()),
        pending,
        address: '',
        userAgent: '',
        expiresAt: new Date(Date.now() + 60_000),
      })),
    });
    if (pending) await api.db.user.update({ where: { id: user.id }, data: confirmTotp() });
    expect((await new Browser(api).signIn(user.email)).status).toBe(pending ? 401 : 200);
    expect(await api.db.userSession.count({ where: { userId: user.id, pending } })).toBe(50);
    const opened = await browser.call('GET', '/console/api/session');
    expect(opened.status).toBe(pending ? 200 : 401);
  },
);

describe('a session that ends meanwhile', () => {
  const profile = '/console/api/profile';
  let browser: Browser;

  beforeEach(async () => {
    browser = await browserOf(api, user);
  });

  /** The change that ends the sessions: a new password, or the first sign-in with the provider. */
  const request = (path: string, body: object) =>
    changeDuring({ passwordHash: 'another' }, () => browser.call('POST', `${profile}${path}`, { body }));

  test('sets no password', async () => {
    const answer = await request('/password', { current: PASSWORD, password: 'nine green turtles' });
    expect(outcome(answer)).toBe('unauthorized');
    const { passwordHash } = await api.db.user.findUniqueOrThrow({ where: { id: user.id } });
    expect(passwordHash).toBe('another');
  });

  test('adds no passkey', async () => {
    const body = { password: PASSWORD };
    const options = await browser.call<Options>('POST', `${profile}/passkeys/options`, { body });
    const credential = new TestPasskey().create(options.body);
    expect(outcome(await request('/passkeys', { name: 'Phone', credential }))).toBe('unauthorized');
    expect(await api.db.passkey.count({ where: { userId: user.id } })).toBe(0);
  });

  test('confirms no second factor', async () => {
    const { body } = await browser.call<{ secret: string }>('POST', `${profile}/totp`, {
      body: { password: PASSWORD },
    });
    const code = new Authenticator(body.secret).code();
    expect(outcome(await request('/totp/confirm', { code }))).toBe('unauthorized');
    const { totpConfirmedAt } = await api.db.user.findUniqueOrThrow({ where: { id: user.id } });
    expect(totpConfirmedAt).toBeNull();
  });
});
