import type { ProblemBody } from '@gwk/core/problems';
import type { AccountOut } from '@gwk/core/resources/console-account';
import { toPublicId } from '@gwk/core/ids';
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

test('refuses another name: the instances of the account name it in Kubernetes', async () => {
  const account = await api.account();
  const browser = await openBrowser(api, account);
  const body = { name: `renamed-${account.id}` };
  const refused = await browser.call<ProblemBody>('PATCH', PATH, { body });
  expect([refused.status, refused.body.type.split('/').at(-1)]).toEqual([422, 'validation-error']);
  expect((await browser.call<AccountOut>('GET', PATH)).body.name).toBe(account.name);
});
