import { toPublicId } from '@gwk/core/ids/ids';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { Answer } from '@gwk/test/support/api/client';
import { addMember, Browser, createUser, type TestUser } from '@gwk/test/support/api/console';
import { openApi, PLATFORM_TOKEN, sharedApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';

let api: TestApi;
let user: TestUser;
let account: TestAccount;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  user = await createUser(api);
  account = await api.account();
  await addMember(api, account, { userId: user.id, role: 'viewer' });
});

interface Link {
  url: string;
  expires_at: string;
}

const outcome = (answer: Answer<unknown>) =>
  answer.status < 300 ? answer.status : [answer.status, (answer.body as ProblemBody).type.split('/').at(-1)];

/** A portal: a server, which sends neither cookie nor Origin. */
const create = (body: object, authorization: string | null = `Bearer ${PLATFORM_TOKEN}`) =>
  api.client(null).call<Link>('POST', '/console/api/handoffs', {
    body,
    headers: authorization === null ? {} : { authorization },
  });

const redeem = (url: string) => {
  const fragment = new URLSearchParams(new URL(url).hash.slice(1));
  return new Browser(api).open('/handoff', { token: fragment.get('token') });
};

test('a portal gets a link that signs the person in once, within 60 s', async () => {
  const { status, body, headers } = await create({ email: user.email.toUpperCase() });
  expect([status, headers['cache-control']]).toEqual([201, 'no-store']);
  expect(body.url).toMatch(/^http:\/\/127\.0\.0\.1:8080\/console\/handoff#token=[\w-]{43}$/);
  const { expiresAt } = await api.db.handoff.findFirstOrThrow({ where: { userId: user.id } });
  expect(Math.abs(expiresAt.getTime() - Date.now() - 60_000)).toBeLessThan(30_000);
  expect((await redeem(body.url)).body.user.email).toBe(user.email);
  expect(outcome(await redeem(body.url))).toEqual([401, 'handoff-invalid']);
  const entry = await api.db.auditEntry.findFirstOrThrow({
    where: { subject: user.id, action: 'user.handoff' },
  });
  expect([entry.actor, entry.detail]).toEqual(['platform', { seconds: 60 }]);
});

test('a late link is refused', async () => {
  const { body } = await create({ email: user.email });
  await api.db.handoff.updateMany({ where: { userId: user.id }, data: { expiresAt: new Date() } });
  expect(outcome(await redeem(body.url))).toEqual([401, 'handoff-invalid']);
});

test('a link names the account to open, of which the person is a member', async () => {
  const id = toPublicId('account', account.id);
  const { body } = await create({ email: user.email, account: id });
  expect(new URLSearchParams(new URL(body.url).hash.slice(1)).get('account')).toBe(id);
  const foreign = toPublicId('account', (await api.account()).id);
  for (const other of [foreign, 'acc_1', 'https://evil.example']) {
    expect(outcome(await create({ email: user.email, account: other }))).toEqual([403, 'no-account']);
  }
  const { email } = await createUser(api, { isPlatformAdmin: true });
  expect((await create({ email, account: foreign })).status).toBe(201);
});

test('an unknown person is not found', async () => {
  expect(outcome(await create({ email: 'nobody@example.org' }))).toEqual([404, 'not-found']);
});

test('only the token of the platform is accepted', async () => {
  const { key } = await api.key(account);
  const wrong = [null, '', 'Bearer', `Bearer ${PLATFORM_TOKEN}x`, `Bearer ${key}`, `Basic ${PLATFORM_TOKEN}`];
  for (const authorization of wrong) {
    expect(outcome(await create({ email: user.email }, authorization))).toEqual([401, 'unauthorized']);
  }
  const browser = new Browser(api);
  await browser.signIn(user.email);
  const answer = await browser.call('POST', '/console/api/handoffs', { body: { email: user.email } });
  expect(outcome(answer)).toEqual([401, 'unauthorized']);
});

test.each<[string, Record<string, string>, string[]]>([
  ['no token', {}, []],
  ['two tokens', { GWK_API_CONSOLE_PLATFORM_TOKEN: `${'n'.repeat(32)},${'o'.repeat(32)}` }, ['n', 'o']],
])('a gateway with %s accepts exactly those', async (_, settings, accepted) => {
  const other = await openApi({ settings });
  try {
    for (const letter of ['n', 'o', 'x']) {
      const answer = await other.client(null).call('POST', '/console/api/handoffs', {
        body: { email: 'nobody@example.org' },
        headers: { authorization: `Bearer ${letter.repeat(32)}` },
      });
      expect(answer.status).toBe(accepted.includes(letter) ? 404 : 401);
    }
  } finally {
    await other.stop();
  }
});
