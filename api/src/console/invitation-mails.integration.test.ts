import { newUuid } from '@gwk/core/ids';
import { createUser, openBrowser, type Browser } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { startMailServer, type MailServer } from '@gwk/test/support/servers/mail-server';

let server: MailServer;
let api: TestApi;
let account: TestAccount;
let owner: Browser & { user: { id: string; email: string } };

beforeAll(async () => {
  server = await startMailServer();
  api = await openApi({ settings: server.settings });
  account = await api.account();
  owner = await openBrowser(api, account);
});
afterAll(async () => {
  await api.stop();
  await server.stop();
});

interface Created {
  url: string;
  emailed: boolean | null;
}

const invite = (email: string) =>
  owner.call<Created>('POST', '/console/api/invitations', { body: { email, role: 'agent' } });

test('the person gets the link by e-mail, in the language of the inviter', async () => {
  await api.db.user.update({ where: { id: owner.user.id }, data: { name: 'Buy <b>pills</b> http://x' } });
  const email = `${newUuid()}@example.org`;
  const { status, body } = await invite(email);
  expect([status, body.emailed]).toEqual([201, true]);
  const mail = server.mails.at(-1)!;
  expect(mail.to).toEqual([email]);
  expect(mail.subject).toBe(`Convite para a conta ${account.name}`);
  expect(mail.text).toContain(
    `${owner.user.email} convida você para a conta ${account.name} como atendente.`,
  );
  expect(mail.text).toContain(body.url);
  expect(mail.text).not.toContain('pills');
});

test('a known person gets it in the own language', async () => {
  const { id, email } = await createUser(api);
  await api.db.user.update({ where: { id }, data: { language: 'en' } });
  expect((await invite(email)).body.emailed).toBe(true);
  expect(server.mails.at(-1)!.subject).toBe(`Invitation to the account ${account.name}`);
});

test('with the server down the invitation exists, and the answer has the link to copy', async () => {
  await server.stop();
  const email = `${newUuid()}@example.org`;
  const { status, body } = await invite(email);
  expect([status, body.emailed]).toEqual([201, false]);
  expect(body.url).toMatch(/\/console\/invitation#token=[\w-]{43}$/);
  expect(await api.db.invitation.count({ where: { accountId: account.id, email } })).toBe(1);
});
