import type { ProblemBody } from '@gwk/core/problems/problems';
import { Browser, createUser } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { Answer } from '@gwk/test/support/api/client';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { verifyWithinLimits } from './attempts.js';

/** An API of its own: sign-ins of other tests come from the same address. Each test has other addresses. */
let api: TestApi;

beforeAll(async () => {
  api = await openApi({
    settings: { GWK_API_TRUST_PROXY: '1', GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000' },
  });
});
afterAll(() => api.stop());

const signIn = (email: string, address: string, password = 'a wrong password') => {
  const browser = new Browser(api);
  browser.headers['x-forwarded-for'] = address;
  return browser.signIn(email, password);
};
const codeOf = ({ body }: Answer<unknown>) => (body as ProblemBody).type?.split('/').at(-1) ?? 'ok';

async function failTimes(count: number, email: (n: number) => string, address: (n: number) => string) {
  for (let n = 0; n < count; n++) {
    expect(codeOf(await signIn(email(n), address(n)))).toBe('invalid-credentials');
  }
}

/** Moves all failures into the past. */
const age = (minutes: number) =>
  api.db.$executeRaw`UPDATE sign_in_failures SET at = at - make_interval(mins => ${minutes}::int)`;

test('locks a user after 10 failures, and a right password does not lift the lock', async () => {
  const { email } = await createUser(api);
  await failTimes(
    10,
    () => email,
    (n) => `10.0.0.${n}`,
  );
  for (const password of ['a wrong password', 'seven blue horses']) {
    const answer = await signIn(email, '10.0.1.1', password);
    expect([answer.status, codeOf(answer)]).toEqual([429, 'login-locked']);
    const seconds = Number(answer.headers['retry-after']);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(15 * 60);
  }
  // Attempts during the lock have not extended it.
  await age(15);
  expect((await signIn(email, '10.0.1.1', 'seven blue horses')).status).toBe(200);
});

test('locks a user for a day after 50 failures', async () => {
  const { email } = await createUser(api);
  for (let lock = 0; lock < 5; lock++) {
    await failTimes(
      10,
      () => email,
      (n) => `10.6.${lock}.${n}`,
    );
    await age(15);
  }
  const answer = await signIn(email, '10.6.9.1', 'seven blue horses');
  expect(codeOf(answer)).toBe('login-locked');
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(22 * 3600);
  await age(1_440);
  expect((await signIn(email, '10.6.9.1', 'seven blue horses')).status).toBe(200);
});

test('locks an unknown e-mail like a known one', async () => {
  await failTimes(
    10,
    () => 'nobody@example.org',
    (n) => `10.1.0.${n}`,
  );
  expect(codeOf(await signIn('nobody@example.org', '10.1.1.1'))).toBe('login-locked');
});

test('locks an address after 50 failures with any e-mail, and no other address', async () => {
  const { email } = await createUser(api);
  await failTimes(
    50,
    (n) => `stranger-${n}@example.org`,
    () => '10.2.0.1',
  );
  expect(codeOf(await signIn(email, '10.2.0.1', 'seven blue horses'))).toBe('login-locked');
  expect((await signIn(email, '10.2.0.2', 'seven blue horses')).status).toBe(200);
});

test('parallel attempts do not pass the limit', async () => {
  const { email } = await createUser(api);
  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => signIn(email, `10.3.0.${n}`)));
  const codes = answers.map(codeOf);
  expect(codes.filter((code) => code === 'invalid-credentials').length).toBeLessThanOrEqual(10);
  expect(codes.every((code) => ['invalid-credentials', 'login-locked'].includes(code))).toBe(true);
});

test('a successful sign-in counts as no failure', async () => {
  const { email } = await createUser(api);
  for (let n = 0; n < 12; n++)
    expect((await signIn(email, '10.4.0.1', 'seven blue horses')).status).toBe(200);
});

test('an attempt that could not be verified counts as no failure', async () => {
  const attempt = { subject: 'provider:down', userId: null, client: '10.5.0.1', step: 'provider' } as const;
  const verify = () => Promise.reject(new Error('the provider is down'));
  for (let n = 0; n < 11; n++)
    await expect(verifyWithinLimits(api.db, attempt, verify)).rejects.toThrow('the provider is down');
});
