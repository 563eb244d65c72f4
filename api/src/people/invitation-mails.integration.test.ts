import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { Browser, createUser, openBrowser } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { startMailServer, type MailServer } from '@gwk/test/support/servers/mail-server';

let isRefusing = false;
let server: MailServer;
let api: TestApi;
let account: TestAccount;
let owner: Browser & { user: { id: string; email: string } };

beforeAll(async () => {
  server = await startMailServer({
    onMail: () => {
      if (isRefusing) throw new Error('refused');
    },
  });
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

const tokenOf = (url: string) => url.split('token=')[1]!;
const readMailedUrl = () => /\S+#token=[\w-]{43}/.exec(server.mails.at(-1)!.text)![0];
/** A link that is valid, without name and password, answers `validation-error`. */
const outcomeOf = async (url: string, person: object = {}) => {
  const body = { token: tokenOf(url), ...person };
  const answer = await new Browser(api).call<{ type: string }>('POST', '/console/api/invitations/accept', {
    body,
  });
  return answer.status < 300 ? answer.status : answer.body.type.split('/').at(-1);
};

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

test('a person gets at most one invitation an hour by e-mail, whoever invites', async () => {
  const email = `${newUuid()}@example.org`;
  expect((await invite(email)).body.emailed).toBe(true);
  const before = server.mails.length;
  const others = [owner, await openBrowser(api, await api.account())];
  for (const browser of others) {
    const body = { email: email.toUpperCase(), role: 'agent' };
    const answer = await browser.call<Created>('POST', '/console/api/invitations', { body });
    expect([answer.status, answer.body.emailed]).toEqual([201, false]);
    expect(answer.body.url).toContain('/console/invitation#token=');
  }
  expect(server.mails).toHaveLength(before);
  await api.db.$executeRaw`UPDATE sign_in_failures SET at = at - interval '1 hour'`;
  expect((await invite(email)).body.emailed).toBe(true);
});

test('an e-mail that the server refused does not use up the hour', async () => {
  const email = `${newUuid()}@example.org`;
  isRefusing = true;
  expect((await invite(email)).body.emailed).toBe(false);
  isRefusing = false;
  expect((await invite(email)).body.emailed).toBe(true);
  expect(server.mails.at(-1)!.to).toEqual([email]);
});

test('of several invitations at once, from the same or from other accounts, exactly one is e-mailed', async () => {
  const other = await openBrowser(api, await api.account());
  for (const browsers of [
    [owner, owner, owner],
    [owner, other, owner, other],
  ]) {
    const email = `${newUuid()}@example.org`;
    const before = server.mails.length;
    const body = { email, role: 'agent' };
    const answers = await Promise.all(
      browsers.map((browser) => browser.call<Created>('POST', '/console/api/invitations', { body })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(browsers.map(() => 201));
    expect(answers.filter((answer) => answer.body.emailed)).toHaveLength(1);
    expect(server.mails).toHaveLength(before + 1);
    expect(await outcomeOf(readMailedUrl())).toBe('validation-error');
  }
});

test('the e-mailed link stays valid when another invitation gets no e-mail, until it is revoked', async () => {
  const email = `${newUuid()}@example.org`;
  await invite(email);
  const mailed = readMailedUrl();
  const second = (await invite(email)).body.url;
  const third = (await invite(email)).body.url;
  expect(await outcomeOf(second)).toBe('invitation-invalid');
  for (const url of [mailed, third]) expect(await outcomeOf(url)).toBe('validation-error');

  await api.db.$executeRaw`UPDATE sign_in_failures SET at = at - interval '1 hour'`;
  isRefusing = true;
  await invite(email);
  isRefusing = false;
  expect(await outcomeOf(mailed)).toBe('validation-error');
  expect((await invite(email)).body.emailed).toBe(true);
  expect(await outcomeOf(mailed)).toBe('invitation-invalid');

  const { id } = await api.db.invitation.findFirstOrThrow({ where: { email } });
  await owner.call('DELETE', `/console/api/invitations/${toPublicId('invitation', id)}`);
  expect(await outcomeOf(readMailedUrl())).toBe('invitation-invalid');
});

test('either link joins once', async () => {
  const email = `${newUuid()}@example.org`;
  await invite(email);
  const [mailed, shown] = [readMailedUrl(), (await invite(email)).body.url];
  const person = { name: 'Eva', password: 'nine green turtles' };
  expect(await outcomeOf(mailed, person)).toBe(200);
  expect(await outcomeOf(shown, person)).toBe('invitation-invalid');
});

test('no inviter has an e-mail that reads like a link or like another one', async () => {
  const emails = [
    'Sua-conta-foi-bloqueada.Acesse-ja:https://evil.example/entrar?u=@x.y',
    'evil.example/entrar@x.y',
    'ana<b>@x.y',
    `ana\u200B@example.org`,
    `owner\u0430@example.org`,
  ];
  for (const email of emails) expect((await invite(email)).status).toBe(422);
});

test('with the server down the invitation exists, and the answer has the link to copy', async () => {
  await server.stop();
  const email = `${newUuid()}@example.org`;
  const { status, body } = await invite(email);
  expect([status, body.emailed]).toEqual([201, false]);
  expect(body.url).toMatch(/\/console\/invitation#token=[\w-]{43}$/);
  expect(await api.db.invitation.count({ where: { accountId: account.id, email } })).toBe(1);
});
