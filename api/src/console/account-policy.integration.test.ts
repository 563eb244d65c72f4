import type { ProblemBody } from '@gwk/core/problems/problems';
import type { AccountPolicyOut } from '../resources/console/account.js';
import type { PolicyOut } from '../policy/policy.js';
import { openBrowser } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';

let api: TestApi;
let account: TestAccount;
let browser: Awaited<ReturnType<typeof openBrowser>>;

beforeAll(async () => {
  api = await openApi({ settings: { GWK_API_POLICY: '{"menu_ttl_hours":48}' } });
});
beforeEach(async () => {
  account = await api.account();
  browser = await openBrowser(api, account, 'admin');
});
afterAll(() => api.stop());

const PATH = '/console/api/account/policy';
const change = (policy: unknown, headers: Record<string, string> = {}) =>
  browser.call<AccountPolicyOut & ProblemBody>('PATCH', PATH, { body: { policy }, headers });
const codeOf = ({ status, body }: Awaited<ReturnType<typeof change>>) => [
  status,
  body.type?.split('/').at(-1),
];

test('shows the value of each level and its source', async () => {
  await change({ messages_per_minute: 30 });
  const { body } = await browser.call<AccountPolicyOut>('GET', PATH);
  expect(body.overrides).toEqual({ messages_per_minute: 30 });
  expect(body.effective).toMatchObject({
    messages_per_minute: 30,
    menu_ttl_hours: 48,
    new_contacts_per_day: 250,
    sources: { messages_per_minute: 'account', menu_ttl_hours: 'environment' },
  });
});

test('a number without an own value gets that of the account', async () => {
  const client = await api.clientOf(account);
  const { body } = await client.call<{ id: string }>('POST', '/v1/instances', { body: { name: 'loja' } });
  await change({ menu_ttl_hours: 3 });
  const policy = await client.call<PolicyOut>('GET', `/v1/instances/${body.id}/policy`);
  expect([policy.body.menu_ttl_hours, policy.body.sources.menu_ttl_hours]).toEqual([3, 'account']);
  await change({});
  const reset = await client.call<PolicyOut>('GET', `/v1/instances/${body.id}/policy`);
  expect(reset.body.menu_ttl_hours).toBe(48);
});

test('a change is answered once the engines of the account have it', async () => {
  const client = await api.clientOf(account);
  const foreign = await api.clientOf(await api.account());
  const calls: [number, boolean | undefined][] = [];
  for (const [index, caller] of [client, client, foreign].entries()) {
    const created = await caller.call<{ id: string }>('POST', '/v1/instances', {
      body: { name: `n${index}` },
    });
    const engine = await api.engine(created.body.id);
    engine.handlers.renew = async () => {
      const { reject_calls } = await engine.call('renew', { connected: false });
      calls.push([index, reject_calls]);
      return {};
    };
  }
  await change({ reject_calls: { enabled: true } });
  expect(calls.toSorted()).toEqual([
    [0, true],
    [1, true],
  ]);
});

test('notes a change in the audit log, without the text for callers', async () => {
  await change({ reject_calls: { enabled: true, text: 'Escreva.' } });
  await change({ reject_calls: { enabled: true, text: 'Escreva.' } });
  const entries = await api.db.auditEntry.findMany({ where: { accountId: account.id } });
  expect(entries).toHaveLength(1);
  expect(entries[0]).toMatchObject({
    action: 'policy.set',
    actor: `user:${browser.user.id}`,
    subject: account.id,
    detail: { policy: { reject_calls: { enabled: true, text_length: 8 } } },
  });
});

test('two people who read the same version: the second change is refused', async () => {
  const { headers } = await browser.call('GET', PATH);
  const etag = headers['etag']!;
  const first = await change({ menu_ttl_hours: 1 }, { 'if-match': etag });
  expect([first.status, first.headers['etag']]).toEqual([200, expect.not.stringMatching(etag)]);
  expect(codeOf(await change({ menu_ttl_hours: 2 }, { 'if-match': etag }))).toEqual([
    412,
    'precondition-failed',
  ]);
});

test.each([
  ['a value out of range', { menu_ttl_hours: 0 }, 'invalid-policy'],
  [
    'an unknown time zone',
    { active_hours: { start: '08:00', end: '18:00', timezone: 'Mars/Base' } },
    'invalid-timezone',
  ],
  ['an unknown key', { nonsense: 1 }, 'validation-error'],
])('%s is refused', async (_case, policy, code) => {
  expect(codeOf(await change(policy))).toEqual([422, code]);
});

test('a restricted administrator reads it only', async () => {
  const restricted = await openBrowser(api, account, 'admin', []);
  expect((await restricted.call('GET', PATH)).status).toBe(200);
  expect((await restricted.call('PATCH', PATH, { body: { policy: {} } })).status).toBe(403);
});
