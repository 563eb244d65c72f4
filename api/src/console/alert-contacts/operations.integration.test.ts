import { fromPublicId } from '@gwk/core/ids/ids';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { AlertContactOut } from '../../resources/console/alert.js';
import { openBrowser, type Browser } from '@gwk/test/support/api/console';
import type { Answer } from '@gwk/test/support/api/client';
import { openApi } from '@gwk/test/support/api/open-api';
import { startMailServer, type MailServer } from '@gwk/test/support/servers/mail-server';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';

let api: TestApi;
let server: MailServer;
let account: TestAccount;
let browser: Browser;

beforeAll(async () => {
  server = await startMailServer({ refusedRecipient: 'refused@example.com' });
  api = await openApi({ settings: server.settings });
});
beforeEach(async () => {
  account = await api.account();
  browser = await openBrowser(api, account, 'admin');
});
afterAll(async () => {
  await api.stop();
  await server.stop();
});

const PATH = '/console/api/alert-contacts';
const ANA = { name: 'Ana', channel: 'email', address: 'Ana@Example.com', language: 'pt-BR' };
const codeOf = ({ status, body }: Answer<unknown>) => [status, (body as ProblemBody).type?.split('/').at(-1)];

const add = (body: object = ANA) => browser.call<AlertContactOut>('POST', PATH, { body });
const verify = (id: string, code: string) =>
  browser.call<AlertContactOut>('POST', `${PATH}/${id}/verify`, { body: { code } });
const lastCode = () => /\d{6}/.exec(server.mails.at(-1)!.text)![0];
const otherThan = (code: string) => (code === '000000' ? '111111' : '000000');

test('a contact counts once the code from its e-mail is entered', async () => {
  const added = await add();
  expect([added.status, added.body]).toEqual([
    201,
    expect.objectContaining({ name: 'Ana', address: 'ana@example.com', verified_at: null }),
  ]);
  const mail = server.mails.at(-1)!;
  expect([mail.to, mail.subject]).toEqual([['ana@example.com'], `${lastCode()} é o seu código do gwk`]);
  expect(mail.text).toContain(account.name);
  const { body } = await verify(added.body.id, lastCode());
  expect(body.verified_at).toEqual(expect.any(String));
  const listed = await browser.call('GET', PATH);
  expect(listed.body).toEqual({ data: [body], channels: { email: true, whatsapp: false } });
  expect(codeOf(await verify(added.body.id, lastCode()))).toEqual([422, 'invalid-code']);
  expect(codeOf(await browser.call('POST', `${PATH}/${added.body.id}/code`))).toEqual([404, 'not-found']);
});

test('the database has no code, and the audit log no address', async () => {
  const { body } = await add();
  const id = fromPublicId('contact', body.id)!;
  const row = await api.db.alertContact.findUniqueOrThrow({ where: { id } });
  expect(row.codeHash).toHaveLength(32);
  expect(JSON.stringify(row)).not.toContain(lastCode());
  await verify(body.id, lastCode());
  await browser.call('DELETE', `${PATH}/${body.id}`);
  const entries = await api.db.auditEntry.findMany({ where: { subject: id }, orderBy: { id: 'asc' } });
  expect(entries.map(({ action }) => action)).toEqual(['contact.create', 'contact.verify', 'contact.remove']);
  expect(JSON.stringify(entries)).not.toContain('example.com');
});

test('refuses the right code after five wrong ones, and accepts another code', async () => {
  const { body } = await add();
  const code = lastCode();
  const tries = Array.from({ length: 5 }, () => verify(body.id, otherThan(code)));
  for (const answer of await Promise.all(tries)) expect(codeOf(answer)).toEqual([422, 'invalid-code']);
  expect(codeOf(await verify(body.id, code))).toEqual([422, 'invalid-code']);
  expect((await browser.call('POST', `${PATH}/${body.id}/code`)).status).toBe(204);
  expect((await verify(body.id, lastCode())).status).toBe(200);
});

test('refuses a code after 15 minutes', async () => {
  const { body } = await add();
  const id = fromPublicId('contact', body.id)!;
  const { codeExpiresAt } = await api.db.alertContact.findUniqueOrThrow({ where: { id } });
  expect(codeExpiresAt!.getTime() - Date.now()).toBeGreaterThan(14 * 60_000);
  await api.db.alertContact.update({ where: { id }, data: { codeExpiresAt: new Date(Date.now() - 1) } });
  expect(codeOf(await verify(body.id, lastCode()))).toEqual([422, 'invalid-code']);
});

test('tells that a code cannot be sent to the address any more', async () => {
  const { body } = await add();
  const id = fromPublicId('contact', body.id)!;
  await api.db.alertContact.update({ where: { id }, data: { address: 'refused@example.com' } });
  expect(codeOf(await browser.call('POST', `${PATH}/${body.id}/code`))).toEqual([422, 'invalid-contact']);
});

test('sends at most 20 codes an hour for an account', async () => {
  const { body } = await add();
  for (let n = 1; n < 20; n++) await browser.call('POST', `${PATH}/${body.id}/code`);
  const before = server.mails.length;
  expect(codeOf(await browser.call('POST', `${PATH}/${body.id}/code`))).toEqual([429, 'rate-limited']);
  expect(codeOf(await add({ ...ANA, address: 'bia@example.com' }))).toEqual([429, 'rate-limited']);
  expect(server.mails).toHaveLength(before);
});

test('two requests for one address add one contact', async () => {
  const answers = await Promise.all([add(), add()]);
  expect(answers.map(codeOf).sort()).toEqual([
    [201, undefined],
    [409, 'contact-exists'],
  ]);
});

test.each([
  ['no e-mail', { ...ANA, address: 'ana' }],
  ['an address that the server refuses', { ...ANA, address: 'refused@example.com' }],
  ['no phone number', { ...ANA, channel: 'whatsapp', address: 'ana@example.com' }],
  ['a group', { ...ANA, channel: 'whatsapp', address: '120363000000000001@g.us' }],
  ['WhatsApp without a connected number', { ...ANA, channel: 'whatsapp', address: '5511987654321' }],
])('%s: invalid-contact, and nothing is stored', async (_case, body) => {
  expect(codeOf(await add(body))).toEqual([422, 'invalid-contact']);
  expect(await api.db.alertContact.count({ where: { accountId: account.id } })).toBe(0);
});

test('sends the code of a WhatsApp contact through a connected number', async () => {
  const client = await api.clientOf(account);
  const { body: instance } = await client.call<{ id: string }>('POST', '/v1/instances', {
    body: { name: 'loja' },
  });
  const id = fromPublicId('instance', instance.id)!;
  await api.db.instance.update({ where: { id }, data: { state: 'connected', firstPairedAt: new Date(0) } });
  for (const [given, address] of [
    ['+55 (11) 98765-4321', '5511987654321'],
    [' 101234567890123@lid ', '101234567890123@lid'],
    ['5511922220000@s.whatsapp.net', '5511922220000'],
  ] as const) {
    const { status, body } = await add({ ...ANA, channel: 'whatsapp', address: given });
    expect([status, body.address]).toEqual([201, address]);
    const message = await api.db.message.findFirstOrThrow({ where: { instanceId: id, to: address } });
    expect(message.type).toBe('text');
  }
  expect((await browser.call('GET', PATH)).body).toMatchObject({ channels: { whatsapp: true } });
});

test('a restricted administrator manages no contacts', async () => {
  const restricted = await openBrowser(api, account, 'admin', []);
  expect(codeOf(await restricted.call('GET', PATH))).toEqual([403, 'forbidden']);
});

test('another account finds no contact', async () => {
  const { body } = await add();
  const other = await openBrowser(api, await api.account());
  for (const [method, path] of [
    ['POST', '/verify'],
    ['POST', '/code'],
    ['DELETE', ''],
  ] as const) {
    const answer = await other.call(method, `${PATH}/${body.id}${path}`, {
      ...(path === '/verify' && { body: { code: '123456' } }),
    });
    expect(codeOf(answer)).toEqual([404, 'not-found']);
  }
});
