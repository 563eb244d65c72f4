import { loadConfig } from '@gwk/core/config/load';
import { workerSettings } from '../config/worker.js';
import { createLogger } from '@gwk/core/process/log';
import { setUpTotp } from '@gwk/test/support/api/authenticator';
import { browserOf, createUser, openBrowser, PASSWORD } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { startMailServer, type MailServer } from '@gwk/test/support/servers/mail-server';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { openMailer } from '../mail/mailer.js';
import type { Job } from '../platform/job.js';
import { auditLogJob } from './audit-log.js';
import { SecurityMails } from './security-mails.js';

let server: MailServer;
let api: TestApi;
let account: TestAccount;
let jobs: Job[];
const lines: string[] = [];

beforeAll(async () => {
  server = await startMailServer();
  api = await openApi();
  account = await api.account();
  const config = loadConfig(workerSettings, {
    DATABASE_URL: 'postgres://unused',
    REDIS_URL: 'redis://unused',
    GWK_ENCRYPTION_KEYS: api.encryptionKeys,
    ...server.settings,
  });
  const log = createLogger('worker', 'warn', { write: (line: string) => void lines.push(line) });
  const mails = new SecurityMails({ db: api.db, mailer: openMailer(config)!, log });
  jobs = [auditLogJob({ db: api.db, log }, (entries) => mails.add(entries)), mails.job];
});
beforeEach(async () => {
  await pass();
  server.mails.length = 0;
});
afterAll(async () => {
  await api.stop();
  await server.stop();
});

async function pass(): Promise<void> {
  for (const job of jobs) await job.pass();
}

/** Recipients and texts of the mails of the changes so far. */
async function readMails(): Promise<string[]> {
  await pass();
  return server.mails.map(({ to, text }) => `${to.join()}: ${text.split('\n')[0]!.trim()}`).toSorted();
}

test('a person learns of a new second factor and a new password, in the own language', async () => {
  const user = await createUser(api);
  await api.db.user.update({ where: { id: user.id }, data: { language: 'en' } });
  const browser = await browserOf(api, user);
  const body = { current: PASSWORD, password: 'nine green turtles' };
  expect((await browser.call('POST', '/console/api/profile/password', { body })).status).toBe(204);
  await setUpTotp(browser, body.password);
  expect(await readMails()).toEqual([
    `${user.email}: A second factor was set up for your user.`,
    `${user.email}: The password of your user was changed.`,
  ]);
  expect(JSON.stringify(server.mails)).not.toContain(body.password);
});

test('a person learns of an own API key without expiry, and not of others', async () => {
  const browser = await openBrowser(api, account);
  const key = { name: 'erp', scopes: ['messages:read'] };
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  for (const body of [key, { ...key, expires_at }]) {
    expect((await browser.call('POST', '/console/api/keys', { body })).status).toBe(201);
  }
  expect(await readMails()).toEqual([
    `${browser.user.email}: O seu usuário criou uma chave de API que não expira.`,
  ]);
  expect(server.mails[0]!.subject).toBe(`Mudança na conta ${account.name}`);
});

test('a person learns once in 24 hours that the sign-in is locked, also during a long attack', async () => {
  const user = await createUser(api);
  const lock = () =>
    api.db.auditEntry.create({
      data: { id: newUuid(), actor: 'anyone', action: 'user.sign-in-locked', subject: user.id, detail: {} },
    });
  await lock();
  await lock();
  expect(await readMails()).toEqual([
    expect.stringContaining(`${user.email}: Houve muitas tentativas de acesso erradas com o seu usuário.`),
  ]);
  expect(server.mails[0]).toMatchObject({
    subject: 'Acesso bloqueado',
    text: expect.stringContaining('defina uma nova senha'),
  });
  await lock();
  expect(await readMails()).toHaveLength(1);
  // The locks before are younger than 24 hours, and only the mail is older.
  const lockMailedAt = new Date(Date.now() - 24 * 3_600_000 - 1);
  await api.db.user.update({ where: { id: user.id }, data: { lockMailedAt, passwordHash: null } });
  await lock();
  expect(await readMails()).toHaveLength(2);
  expect(server.mails[1]!.text).toContain('avise um administrador');
});

test('all owners learn of a new owner', async () => {
  const own = await api.account();
  const [owner, member] = [await openBrowser(api, own), await openBrowser(api, own, 'admin')];
  await openBrowser(api, own, 'viewer');
  const path = `/console/api/members/${toPublicId('user', member.user.id)}`;
  expect((await owner.call('PATCH', path, { body: { role: 'owner' } })).status).toBe(200);
  const text = 'Há um novo proprietário.';
  const emails = [owner.user.email, member.user.email];
  expect(await readMails()).toEqual(emails.map((email) => `${email}: ${text}`).toSorted());
});

test('a mail that cannot be sent is logged without its address', async () => {
  await server.stop();
  const browser = await openBrowser(api, account);
  await setUpTotp(browser);
  await pass();
  const line = lines.find((one) => one.includes('security mail not sent'))!;
  expect(JSON.parse(line)).toMatchObject({ level: 'warn', action: 'user.totp-set' });
  expect(line).not.toContain(browser.user.email);
  const { id } = browser.user;
  const entry = { id: newUuid(), actor: 'anyone', action: 'user.sign-in-locked', subject: id, detail: {} };
  await api.db.auditEntry.create({ data: entry });
  await pass();
  expect(lines.some((one) => one.includes('user.sign-in-locked'))).toBe(true);
  // So the next lock sends a mail.
  expect((await api.db.user.findUniqueOrThrow({ where: { id } })).lockMailedAt).toBeNull();
});
