import type { ProblemBody } from '@gwk/core/problems/problems';
import { setUpTotp } from '@gwk/test/support/api/authenticator';
import type { Answer } from '@gwk/test/support/api/client';
import { Browser, browserOf, createUser, PASSWORD, type TestUser } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';

let api: TestApi;
let user: TestUser;
let address = 0;

beforeAll(async () => {
  api = await openApi({
    settings: { GWK_API_TRUST_PROXY: '1', GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000' },
  });
});
beforeEach(async () => {
  user = await createUser(api);
});
afterAll(() => api.stop());

const outcome = ({ status, body }: Answer<unknown>) =>
  status < 300 ? status : (body as ProblemBody).type.split('/').at(-1);
const deviceOf = ({ headers }: Answer<unknown>): string | undefined =>
  headers['set-cookie']?.find((cookie) => cookie.startsWith('gwk_device='))?.split(';')[0];

function browserWith(
  device: string | undefined,
  from = `10.20.${Math.floor(address / 250)}.${address++ % 250}`,
) {
  const browser = new Browser(api);
  browser.headers['x-forwarded-for'] = from;
  if (device !== undefined) browser.headers['cookie'] = device;
  return browser;
}
const signIn = async (
  device: string | undefined,
  {
    email = user.email,
    password = PASSWORD,
    from,
  }: { email?: string; password?: string; from?: string } = {},
) => browserWith(device, from).signIn(email, password);

async function fail(
  times: number,
  device: string | undefined,
  given: { email?: string; from?: string } = {},
) {
  for (let n = 0; n < times; n++)
    expect(outcome(await signIn(device, { ...given, password: 'a wrong password' }))).toBe(
      'invalid-credentials',
    );
}

test('strangers who lock the e-mail do not lock a device that has signed in', async () => {
  const device = deviceOf(await signIn(undefined))!;
  await fail(10, undefined);
  expect(outcome(await signIn(undefined))).toBe('login-locked');
  expect(outcome(await signIn(device))).toBe(200);
});

test('strangers at the address of the person do not lock a known device', async () => {
  const device = deviceOf(await signIn(undefined))!;
  for (let n = 0; n < 50; n++)
    await fail(1, undefined, { email: `nobody-${n}@example.org`, from: '10.21.0.1' });
  expect(outcome(await signIn(undefined, { from: '10.21.0.1' }))).toBe('login-locked');
  expect(outcome(await signIn(device, { from: '10.21.0.1' }))).toBe(200);
});

test('a locked e-mail stays locked for the device of another person and for a made-up cookie', async () => {
  const other = await createUser(api);
  const device = deviceOf(await signIn(undefined, { email: other.email }))!;
  await fail(10, undefined);
  for (const cookie of [device, `gwk_device=${'a'.repeat(43)}`, 'gwk_device=1'])
    expect(outcome(await signIn(cookie))).toBe('login-locked');
});

test('the failures of a device lock that device only', async () => {
  const device = deviceOf(await signIn(undefined))!;
  await fail(10, device);
  expect(outcome(await signIn(device))).toBe('login-locked');
  expect(outcome(await signIn(undefined))).toBe(200);
});

test('two people of a browser have counts of their own', async () => {
  const other = await createUser(api);
  const device = deviceOf(await signIn(undefined))!;
  expect(deviceOf(await signIn(device, { email: other.email }))).toBe(device);
  await fail(10, device);
  expect(outcome(await signIn(device, { email: other.email }))).toBe(200);
});

test('a token that gwk has not made is replaced', async () => {
  const planted = `gwk_device=${'b'.repeat(43)}`;
  expect(deviceOf(await signIn(planted))).not.toBe(planted);
  expect(JSON.stringify(await api.db.knownDevice.findMany())).not.toContain('b'.repeat(43));
});

test('the cookie is no session and no proof of a factor', async () => {
  const { app } = await setUpTotp(await browserOf(api, user));
  const browser = browserWith(undefined);
  const pending = await browser.signIn(user.email);
  expect([outcome(pending), deviceOf(pending)]).toEqual(['mfa-required', undefined]);
  const device = deviceOf(await browser.open('/code', { code: app.code(1) }))!;
  expect(outcome(await signIn(device))).toBe('mfa-required');
  expect((await browserWith(device).call('GET', '/console/api/session')).status).toBe(401);
});

test('a new password makes the other devices unknown', async () => {
  const former = deviceOf(await signIn(undefined))!;
  const own = deviceOf(await signIn(undefined))!;
  const browser = await browserOf(api, user);
  browser.headers['cookie'] += `; ${own}`;
  const body = { current: PASSWORD, password: 'nine green turtles' };
  expect((await browser.call('POST', '/console/api/profile/password', { body })).status).toBe(204);
  await fail(10, undefined);
  expect(outcome(await signIn(former, body))).toBe('login-locked');
  expect(outcome(await signIn(own, body))).toBe(200);
});

test('a user has at most 20 devices', async () => {
  const first = deviceOf(await signIn(undefined))!;
  for (let n = 0; n < 20; n++) await signIn(undefined);
  expect(await api.db.knownDevice.count({ where: { userId: user.id } })).toBe(20);
  await fail(10, undefined);
  expect(outcome(await signIn(first))).toBe('login-locked');
});
