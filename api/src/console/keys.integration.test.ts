import type { z } from 'zod';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { CreatedKey, KeyOut } from '../resources/console/key.js';
import type { Page } from '@gwk/core/resources/common';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { ROLE_RIGHTS } from '../roles.js';
import { openBrowser, type Browser } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';

type Key = z.output<typeof KeyOut>;
type NewKey = z.output<typeof CreatedKey>;

let api: TestApi;
let account: TestAccount;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
});

const PATH = '/console/api/keys';
const create = (browser: Browser, body: object) => browser.call<NewKey>('POST', PATH, { body });
const list = async (browser: Browser, query = '') =>
  (await browser.call<Page<Key>>('GET', `${PATH}${query}`)).body;
const codeOf = (answer: { body: unknown }) => (answer.body as ProblemBody).type.split('/').at(-1);

const addInstance = async (browser: Browser, name: string) => {
  const { body } = await browser.call<{ id: string }>('POST', '/v1/instances', {
    body: { name, kind: 'sandbox' },
  });
  const row = await api.db.instance.findFirstOrThrow({ where: { accountId: account.id, name } });
  return { id: body.id, uuid: row.id };
};

test('creates a key that is shown once, works, and stops when it is revoked', async () => {
  const browser = await openBrowser(api, account, 'developer');
  const made = await create(browser, { name: 'CRM', scopes: ['messages:read'] });
  expect(made.status).toBe(201);
  const { api_key, ...shown } = made.body;
  expect(await list(browser)).toEqual({ data: [shown], next_cursor: null });
  const client = api.client(api_key);
  expect((await client.call('GET', '/v1/messages')).status).toBe(200);
  expect(codeOf(await client.call('GET', '/v1/instances'))).toBe('insufficient-scope');

  expect((await browser.call('DELETE', `${PATH}/${shown.id}`)).status).toBe(204);
  expect((await client.call('GET', '/v1/messages')).status).toBe(401);
  expect((await browser.call('DELETE', `${PATH}/${shown.id}`)).status).toBe(204);
  expect((await list(browser)).data[0]!.revoked_at).not.toBeNull();
  const entries = await api.db.auditEntry.findMany({
    where: { accountId: account.id },
    orderBy: { id: 'asc' },
  });
  expect(entries.map(({ actor, action }) => [actor, action])).toEqual([
    [`user:${browser.user.id}`, 'key.create'],
    [`user:${browser.user.id}`, 'key.revoke'],
  ]);
  expect(JSON.stringify(entries)).not.toContain(api_key);
});

test.each([
  ['none', []],
  ['an unknown one', ['messages:read', 'everything']],
  ['one that the role lacks', ['instances:write']],
])('refuses scopes: %s', async (_, scopes) => {
  expect(ROLE_RIGHTS.developer.scopes).not.toContain('instances:write');
  const browser = await openBrowser(api, account, 'developer');
  const answer = await create(browser, { scopes });
  expect([answer.status, codeOf(answer)]).toEqual([422, 'invalid-scopes']);
});

test('an expired key is refused like an unknown one', async () => {
  const browser = await openBrowser(api, account);
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const { body } = await create(browser, { scopes: ['messages:read'], expires_at });
  expect(body.expires_at).toBe(expires_at);
  const past = new Date(Date.now() - 1_000);
  await api.db.apiKey.updateMany({ where: { accountId: account.id }, data: { expiresAt: past } });
  expect((await api.client(body.api_key).call('GET', '/v1/messages')).status).toBe(401);
});

test.each([0, 30, 11 * 366 * 86_400])('refuses an expiry %d s ahead', async (seconds) => {
  const browser = await openBrowser(api, account);
  const expires_at = new Date(Date.now() + seconds * 1000).toISOString();
  expect(codeOf(await create(browser, { scopes: ['messages:read'], expires_at }))).toBe('invalid-expiration');
});

test('a restricted member creates, sees and revokes only keys with no other instances', async () => {
  const owner = await openBrowser(api, account);
  const [one, other] = [await addInstance(owner, 'one'), await addInstance(owner, 'other')];
  const member = await openBrowser(api, account, 'developer', [one.uuid]);
  const scopes = ['instances:read'];
  const made = await create(member, { scopes });
  expect(made.body.instance_ids).toEqual([one.id]);
  const hidden = await create(member, { scopes, instance_ids: [other.id] });
  const absent = await create(member, { scopes, instance_ids: [`ins_${'0'.repeat(32)}`] });
  expect([hidden.status, (hidden.body as unknown as ProblemBody).errors]).toEqual([
    422,
    (absent.body as unknown as ProblemBody).errors,
  ]);
  const wide = await create(owner, { scopes });
  const foreign = await create(owner, { scopes, instance_ids: [other.id] });
  expect((await list(member)).data.map(({ id }) => id)).toEqual([made.body.id]);
  expect((await list(owner)).data).toHaveLength(3);
  for (const { id } of [wide.body, foreign.body]) {
    expect(codeOf(await member.call('DELETE', `${PATH}/${id}`))).toBe('not-found');
  }
  expect((await member.call('DELETE', `${PATH}/${made.body.id}`)).status).toBe(204);
});

test('pages through the keys', async () => {
  const browser = await openBrowser(api, account);
  const keys = await Promise.all([1, 2, 3].map(() => api.key(account)));
  const first = await list(browser, '?limit=2');
  const second = await list(browser, `?limit=2&cursor=${first.next_cursor!}`);
  const ids = [...first.data, ...second.data].map(({ id }) => id);
  expect(ids).toEqual(
    keys
      .map(({ id }) => toPublicId('apiKey', id))
      .sort()
      .reverse(),
  );
  expect(second.next_cursor).toBeNull();
});

test('refuses more than 100 live keys, also of two requests at once', async () => {
  const browser = await openBrowser(api, account);
  const made = (n: number) => ({
    id: newUuid(),
    accountId: account.id,
    name: `key ${n}`,
    hash: new Uint8Array(Buffer.from(newUuid())),
    scopes: ['messages:read'],
    // Neither of the first two is live.
    revokedAt: n === 0 ? new Date() : null,
    expiresAt: n === 1 ? new Date() : null,
  });
  await api.db.apiKey.createMany({ data: Array.from({ length: 101 }, (_, n) => made(n)) });
  const add = () => create(browser, { name: 'more', scopes: ['messages:read'] });
  const answers = await Promise.all([add(), add()]);
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 422]);
  const refused = answers.find(({ status }) => status === 422)!.body as unknown as ProblemBody;
  expect(refused.errors).toEqual([
    { path: '', code: 'too-many-keys', message: 'the account already has 100 keys; revoke one' },
  ]);
  const { id } = answers.find(({ status }) => status === 201)!.body;
  expect((await browser.call('DELETE', `${PATH}/${id}`)).status).toBe(204);
  expect((await add()).status).toBe(201);
});
