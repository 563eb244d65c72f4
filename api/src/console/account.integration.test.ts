import type { ProblemBody } from '@gwk/core/problems/problems';
import type { AccountOut } from '../resources/console/account.js';
import { toPublicId } from '@gwk/core/ids/ids';
import { openBrowser } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';

let api: TestApi;

beforeAll(async () => {
  api = await sharedApi();
});

const PATH = '/console/api/account';

test('shows the account, and notes a change in the audit log', async () => {
  const account = await api.account();
  const browser = await openBrowser(api, account, 'admin');
  const shown = { id: toPublicId('account', account.id), name: account.name, requires_mfa: false };
  expect((await browser.call<AccountOut>('GET', PATH)).body).toMatchObject({ ...shown, suspended: false });
  const body = { requires_mfa: false };
  expect((await browser.call<AccountOut>('PATCH', PATH, { body })).body).toMatchObject(shown);
  const entry = await api.db.auditEntry.findFirstOrThrow({ where: { subject: account.id } });
  expect(entry).toMatchObject({ action: 'account.update', actor: `user:${browser.user.id}`, detail: body });
});

test('shows the limits in effect and what the account stores, the use to unrestricted members only', async () => {
  const account = await api.account({ maxInstances: 3 });
  const usage = { mediaBytes: 70, mediaFiles: 2, eventBytes: 900 };
  await api.db.accountUsage.upsert({
    where: { accountId: account.id },
    create: { accountId: account.id, ...usage },
    update: usage,
  });
  const browser = await openBrowser(api, account, 'viewer');
  const { body } = await browser.call<AccountOut>('GET', PATH);
  expect(body.limits).toEqual({
    instances: 3,
    requests_per_minute: expect.any(Number),
    media_bytes: 5_368_709_120,
    media_files: 100_000,
    event_bytes: 10_737_418_240,
  });
  expect(body.usage).toEqual({ instances: 0, media_bytes: 70, media_files: 2, event_bytes: 900 });
  const restricted = await openBrowser(api, account, 'viewer', []);
  expect((await restricted.call<AccountOut>('GET', PATH)).body.usage).toBeNull();
});

test('refuses another name: the instances of the account name it in Kubernetes', async () => {
  const account = await api.account();
  const browser = await openBrowser(api, account);
  const body = { name: `renamed-${account.id}` };
  const refused = await browser.call<ProblemBody>('PATCH', PATH, { body });
  expect([refused.status, refused.body.type.split('/').at(-1)]).toEqual([422, 'validation-error']);
  expect((await browser.call<AccountOut>('GET', PATH)).body.name).toBe(account.name);
});
