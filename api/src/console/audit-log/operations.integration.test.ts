import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { AuditEntryOut } from '../../resources/console/audit.js';
import { Browser, createUser, addMember, openBrowser } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';

let api: TestApi;
let account: TestAccount;
let browser: Awaited<ReturnType<typeof openBrowser>>;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  browser = await openBrowser(api, account, 'admin');
});

const PATH = '/console/api/audit-log';
const list = async (query: Record<string, string> = {}) =>
  (await browser.call<Page<AuditEntryOut>>('GET', PATH, { query })).body;
const actions = async (query: Record<string, string> = {}) =>
  (await list(query)).data.map(({ action }) => action);
const createKey = async (name: string) =>
  (
    await browser.call<{ id: string }>('POST', '/console/api/keys', {
      body: { name, scopes: ['messages:read'] },
    })
  ).body.id;

async function exportCsv(query = ''): Promise<Response> {
  return fetch(`http://127.0.0.1:${api.port}${PATH}.csv${query}`, { headers: browser.headers });
}

test('shows who changed what, newest first', async () => {
  const key = await createKey('erp');
  await browser.call('DELETE', `/console/api/keys/${key}`);
  const { data } = await list();
  const shown = {
    actor: `user:${toPublicId('user', browser.user.id)}`,
    actor_name: browser.user.email,
    subject: key,
  };
  expect(data).toEqual([
    expect.objectContaining({ ...shown, action: 'key.revoke', detail: {} }),
    expect.objectContaining({
      ...shown,
      action: 'key.create',
      detail: { name: 'erp', scopes: ['messages:read'] },
    }),
  ]);
});

test('filters by person, operation, subject and time, and pages by cursor', async () => {
  const keys = [await createKey('one'), await createKey('two')];
  await browser.call('PATCH', '/console/api/account', { body: { requires_mfa: false } });
  expect(await actions({ action: 'key' })).toEqual(['key.create', 'key.create']);
  expect(await actions({ action: 'key.revoke' })).toEqual([]);
  expect(await actions({ action: 'ke' })).toEqual([]);
  expect(await actions({ subject: keys[0]! })).toEqual(['key.create']);
  expect(await actions({ subject: toPublicId('account', account.id) })).toEqual(['account.update']);
  for (const actor of [browser.user.email.toUpperCase(), toPublicId('user', browser.user.id)])
    expect(await actions({ actor })).toHaveLength(3);
  expect(await actions({ actor: 'nobody@example.org' })).toEqual([]);
  const minute = 60_000;
  expect(await actions({ since: new Date(Date.now() + minute).toISOString() })).toEqual([]);
  expect(await actions({ until: new Date(Date.now() - minute).toISOString() })).toEqual([]);
  const first = await list({ limit: '2' });
  const second = await list({ limit: '2', cursor: first.next_cursor! });
  expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(
    (await list()).data.map(({ id }) => id),
  );
});

test('shows sign-ins of members, and nothing of other people and accounts', async () => {
  const [member, stranger] = [await createUser(api), await createUser(api)];
  await addMember(api, account, { userId: member.id, role: 'viewer' });
  for (const { email } of [member, stranger]) await new Browser(api).signIn(email);
  await (
    await openBrowser(api, await api.account())
  ).call('PATCH', '/console/api/account', {
    body: { requires_mfa: false },
  });
  expect((await list()).data).toEqual([
    expect.objectContaining({ action: 'user.sign-in', actor_name: member.email }),
  ]);
});

test('exports what the filters show as CSV', async () => {
  const key = await createKey('=1+1');
  await createKey('other');
  const answer = await exportCsv(`?subject=${key}`);
  expect([
    answer.status,
    answer.headers.get('content-type'),
    answer.headers.get('content-disposition'),
  ]).toEqual([200, 'text/csv; charset=utf-8', 'attachment; filename="audit-log.csv"']);
  const [header, line, ...rest] = (await answer.text()).split('\r\n');
  expect([header, rest]).toEqual(['at,actor,actor_name,action,subject,detail', ['']]);
  expect(line).toContain(`"key.create","${key}"`);
});

test('exports nothing for a filter that is no time', async () => {
  expect((await browser.call('GET', `${PATH}.csv`, { query: { since: 'never' } })).status).toBe(422);
});

test('exports more entries than one read', async () => {
  const entry = {
    accountId: account.id,
    actor: 'gwk:worker',
    action: 'webhook.disable',
    subject: 'x',
    detail: {},
  };
  await api.db.auditEntry.createMany({
    data: Array.from({ length: 2_500 }, () => ({ id: newUuid(), ...entry })),
  });
  const text = await (await exportCsv()).text();
  expect(text.trimEnd().split('\r\n')).toHaveLength(2_501);
});

test('members with a restriction do not read it', async () => {
  const restricted = await openBrowser(api, account, 'admin', []);
  expect((await restricted.call('GET', PATH)).status).toBe(403);
});
