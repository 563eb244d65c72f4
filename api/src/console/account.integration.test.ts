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

test('shows and renames the account, with an audit entry', async () => {
  const account = await api.account();
  const browser = await openBrowser(api, account, 'admin');
  expect((await browser.call<AccountOut>('GET', PATH)).body).toMatchObject({
    id: toPublicId('account', account.id),
    name: account.name,
    requires_mfa: false,
    suspended: false,
  });
  const name = `renamed-${account.id}`;
  const renamed = await browser.call<AccountOut>('PATCH', PATH, { body: { name } });
  expect([renamed.status, renamed.body.name]).toEqual([200, name]);
  const entry = await api.db.auditEntry.findFirstOrThrow({ where: { subject: account.id } });
  expect(entry).toMatchObject({
    action: 'account.update',
    actor: `user:${browser.user.id}`,
    detail: { name },
  });
});

test('refuses the name of another account', async () => {
  const other = await api.account();
  const browser = await openBrowser(api, await api.account());
  const { status, body } = await browser.call<ProblemBody>('PATCH', PATH, { body: { name: other.name } });
  expect([status, body.errors]).toEqual([422, [{ path: 'name', code: 'taken', message: 'is taken' }]]);
});
