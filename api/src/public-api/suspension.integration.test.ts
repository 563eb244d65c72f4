import type { ProblemBody } from '@gwk/core/problems/problems';
import type { Answer } from '@gwk/test/support/api/client';
import { Browser, createUser, openBrowser } from '@gwk/test/support/api/console';
import { sampleOf } from '@gwk/test/support/api/console-world';
import { ABSENT_IDS, buildSample } from '@gwk/test/support/api/contract/requests';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { findRule, listRules } from '../http/suspension.js';
import { openApiDocument } from '../openapi/document.js';
import { CONSOLE_OPERATIONS, OPERATIONS } from './operations.js';

let api: TestApi;

beforeAll(async () => {
  api = await sharedApi();
});

const document = openApiDocument({
  operations: OPERATIONS,
  baseUrl: 'https://example.org',
  docsUrl: 'https://docs.example.org',
});
const changes = [...OPERATIONS, ...CONSOLE_OPERATIONS].filter(({ method }) => method !== 'GET');
const only = (operations: typeof OPERATIONS, rule: string) =>
  operations
    .filter(({ name }) => findRule(name) === rule)
    .map((operation) => ({ operation, name: operation.name }));

const suspend = (account: TestAccount) =>
  api.db.account.update({ where: { id: account.id }, data: { suspendedAt: new Date() } });
const outcome = ({ status, body }: Answer<unknown>) =>
  status < 300 ? status : (body as ProblemBody).type.split('/').at(-1);

test('each operation that changes something decides about suspended accounts, and no other', () => {
  expect(listRules().toSorted()).toEqual(changes.map(({ name }) => name).toSorted());
});

describe('while the account is suspended', () => {
  let account: TestAccount;

  beforeAll(async () => {
    account = await api.account();
  });

  test.each(only(OPERATIONS, 'refused'))('a key: $name is refused', async ({ operation }) => {
    const client = await api.clientOf(account);
    await suspend(account);
    const { method, path, body, headers } = buildSample(operation, document, ABSENT_IDS);
    expect(outcome(await client.call(method, path, { body, ...(headers && { headers }) }))).toBe(
      'account-suspended',
    );
  });

  test.each(only(OPERATIONS, 'works'))('a key: $name is not refused', async ({ operation }) => {
    const client = await api.clientOf(account);
    await suspend(account);
    const { method, path, body } = buildSample(operation, document, ABSENT_IDS);
    expect(outcome(await client.call(method, path, { body }))).not.toBe('account-suspended');
  });

  test.each(only(CONSOLE_OPERATIONS, 'refused'))('an owner: $name is refused', async ({ operation }) => {
    const browser = await openBrowser(api, account);
    await suspend(account);
    const { method, path, body } = sampleOf(operation);
    expect(outcome(await browser.call(method, path, { body }))).toBe('account-suspended');
  });

  test('a key disables an endpoint, and changes nothing else of it', async () => {
    await api.db.account.update({ where: { id: account.id }, data: { suspendedAt: null } });
    const given = { url: 'https://example.org/old' };
    const before = await api.clientOf(account);
    const { id } = (await before.call<{ id: string }>('POST', '/v1/webhook-endpoints', { body: given })).body;
    await suspend(account);
    // A new key, because the API caches the account of each key for 2 s.
    const client = await api.clientOf(account);
    const change = async (body: object) =>
      outcome(await client.call('PATCH', `/v1/webhook-endpoints/${id}`, { body }));
    const additions = [
      { url: 'https://example.org/new' },
      { enabled: true },
      { enabled: false, url: 'https://example.org/new' },
      { instance_ids: [] },
      {},
    ];
    for (const body of additions) expect(await change(body)).toBe('account-suspended');
    expect(await change({ enabled: false })).toBe(200);
    const { body } = await client.call('GET', `/v1/webhook-endpoints/${id}`);
    expect(body).toMatchObject({ ...given, enabled: false });
  });

  test('an owner still creates no number by the session, and reads', async () => {
    const browser = await openBrowser(api, account);
    await suspend(account);
    const body = { name: 'first', kind: 'sandbox' };
    expect(outcome(await browser.call('POST', '/v1/instances', { body }))).toBe('account-suspended');
    expect((await browser.call('GET', '/v1/instances')).status).toBe(200);
  });
});

test('nobody joins a suspended account, neither a new nor a known person', async () => {
  const account = await api.account();
  const owner = await openBrowser(api, account);
  const known = await createUser(api);
  const invite = async (email: string) => {
    const body = { email, role: 'viewer' };
    const { url } = (await owner.call<{ url: string }>('POST', '/console/api/invitations', { body })).body;
    return url.split('token=')[1]!;
  };
  const [first, second] = [await invite(`new-${known.email}`), await invite(known.email)];
  await suspend(account);
  const accept = '/console/api/invitations/accept';
  const given = { token: first, name: 'Eva', password: 'nine green turtles' };
  expect(outcome(await new Browser(api).call('POST', accept, { body: given }))).toBe('account-suspended');
  const browser = new Browser(api);
  await browser.signIn(known.email);
  expect(outcome(await browser.call('POST', accept, { body: { token: second } }))).toBe('account-suspended');
  expect(await api.db.user.count({ where: { email: `new-${known.email}` } })).toBe(0);
  await api.db.account.update({ where: { id: account.id }, data: { suspendedAt: null } });
  expect(outcome(await browser.call('POST', accept, { body: { token: second } }))).toBe(200);
});
