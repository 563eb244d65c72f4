import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { InstanceOut } from '../resources/instance.js';
import type { MessageOut } from '@gwk/core/resources/message';
import type { OptOutOut } from '../resources/opt-out.js';
import type { ApiClient } from '@gwk/test/support/api/client';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { finishOptOut, linkNames } from '../contacts/contacts.js';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;
/** Restricted to `sandbox`. */
let restricted: ApiClient;
let sandbox: string;
let other: string;
let web: string;
beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  sandbox = await newInstance('sandbox');
  other = await newInstance('sandbox');
  web = await newInstance('web');
  await api.db.instance.update({
    where: { id: toUuid(web) },
    data: { state: 'connected', firstPairedAt: new Date() },
  });
  restricted = await api.clientOf(account, { instances: [toUuid(sandbox)] });
});

const ANA = '5511987654321';
const sealer = () => new Sealer(parseEncryptionKeys(api.encryptionKeys));
const toUuid = (id: string) => fromPublicId('instance', id)!;
const newInstance = async (kind: string) => {
  const body = { name: newUuid(), kind };
  return (await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id;
};
const say = (text: string, by = restricted) =>
  by.call('POST', `/v1/instances/${sandbox}/sandbox/inbound`, { body: { from: ANA, text } });
const send = (instance: string) =>
  client.call<MessageOut>('POST', '/v1/messages', {
    body: { instance_id: instance, to: ANA, type: 'text', text: { body: newUuid() } },
  });
const sends = async () => [
  (await send(sandbox)).status,
  (await send(other)).status,
  (await send(web)).status,
];
const optOut = () => client.call<OptOutOut>('POST', '/v1/opt-outs', { body: { phone: ANA } });
const remove = () => client.call('DELETE', `/v1/opt-outs/${ANA}`);
const list = async () => (await client.call<Page<OptOutOut>>('GET', '/v1/opt-outs')).body.data;
const statusOf = async ({ body: { id } }: { body: MessageOut }) =>
  (await client.call<MessageOut>('GET', `/v1/messages/${id}`)).body.status;
const contactEvents = async () => {
  const where = { accountId: account.id, type: { startsWith: 'contact.' } };
  return (await api.db.event.findMany({ where, orderBy: { id: 'asc' } })).map(({ type }) => type);
};
const findContact = async () =>
  (await api.db.contactName.findFirstOrThrow({ where: { accountId: account.id, name: ANA } })).contactId;

test('a resume word in a sandbox ends an opt-out of the account there only', async () => {
  await optOut();
  expect((await say('VOLTAR')).status).toBe(200);
  expect(await sends()).toEqual([202, 422, 422]);
  expect(await list()).toMatchObject([{ phone: ANA, source: 'api', scope: 'account' }]);
  expect(await contactEvents()).toEqual(['contact.opted_in']);
});

test('an opt-out word in a sandbox stops sends of that sandbox only', async () => {
  const queued = [await send(sandbox), await send(other), await send(web)];
  await say('SAIR');
  expect(await Promise.all(queued.map(statusOf))).toEqual(['failed', 'queued', 'queued']);
  expect(await sends()).toEqual([422, 202, 202]);
  expect(await list()).toMatchObject([
    { phone: ANA, source: 'keyword', instance_id: sandbox, scope: 'sandbox' },
  ]);
});

test('a resume word in a sandbox ends the opt-out by word there', async () => {
  await say('SAIR');
  await say('VOLTAR');
  expect(await sends()).toEqual([202, 202, 202]);
  expect(await list()).toEqual([]);
  expect(await contactEvents()).toEqual(['contact.opted_out', 'contact.opted_in']);
});

test('SAIR, VOLTAR and SAIR in a sandbox leave an opt-out of the account unchanged', async () => {
  await optOut();
  for (const word of ['SAIR', 'VOLTAR', 'VOLTAR', 'SAIR']) await say(word);
  expect(await sends()).toEqual([422, 422, 422]);
  await say('VOLTAR');
  expect(await sends()).toEqual([202, 422, 422]);
  expect((await list()).map(({ scope }) => scope)).toEqual(['account']);
});

test('an opt-out of the account is new although a sandbox has one, and ends resumptions in sandboxes', async () => {
  await say('SAIR');
  const first = await optOut();
  expect([first.status, first.body]).toMatchObject([201, { source: 'api', instance_id: null }]);
  expect((await list()).map(({ scope }) => scope)).toEqual(['account', 'sandbox']);
  await say('VOLTAR');
  const queued = await send(sandbox);
  expect(queued.status).toBe(202);
  expect((await optOut()).status).toBe(200);
  expect(await statusOf(queued)).toBe('failed');
  expect(await sends()).toEqual([422, 422, 422]);
});

test('DELETE ends the opt-outs of the contact everywhere', async () => {
  await say('SAIR');
  expect((await remove()).status).toBe(204);
  await optOut();
  await say('VOLTAR');
  await say('SAIR');
  expect((await remove()).status).toBe(204);
  expect(await sends()).toEqual([202, 202, 202]);
  expect((await remove()).status).toBe(404);
});

test('a removed sandbox leaves no opt-out', async () => {
  await say('SAIR');
  await client.call('DELETE', `/v1/instances/${sandbox}`);
  expect(await list()).toEqual([]);
});

test('the words of consumers are in the audit log, repeated ones once', async () => {
  for (const word of ['SAIR', 'SAIR', 'VOLTAR', 'VOLTAR']) await say(word);
  const where = { accountId: account.id, action: { startsWith: 'opt_out.' } };
  const entries = await api.db.auditEntry.findMany({ where, orderBy: { id: 'asc' } });
  const contact = await findContact();
  expect(entries.map(({ action, subject, detail }) => ({ action, subject, detail }))).toEqual([
    { action: 'opt_out.create', subject: contact, detail: { sandbox } },
    { action: 'opt_out.delete', subject: contact, detail: { sandbox } },
  ]);
  expect(entries[0]!.actor).toMatch(/^key:/);
});

test('two contacts that turn out to be one keep each opt-out in its scope', async () => {
  const lid = '123456789012345@lid';
  await say('SAIR');
  await send(web);
  const queued = [await send(other), await send(web)];
  await client.call('POST', '/v1/messages', {
    body: { instance_id: web, to: lid, type: 'text', text: { body: 'oi' } },
  });
  const seen = { accountId: account.id, instanceId: fromPublicId('instance', web)!, lid, phone: ANA };
  await linkNames({ database: api.db, sealer: sealer() }, seen);
  expect(await Promise.all(queued.map(statusOf))).toEqual(['queued', 'queued']);
  expect(await sends()).toEqual([422, 202, 202]);
});

test('the worker finishes a long queue of the sandbox and no other', async () => {
  await say('SAIR');
  const row = await api.db.optOut.findFirstOrThrow({ where: { accountId: account.id } });
  await api.db.optOut.update({ where: { id: row.id }, data: { unfinished: true } });
  const kept = await send(web);
  const { contactId, sandboxId } = row;
  const deps = { database: api.db, sealer: sealer() };
  expect(await finishOptOut(deps, { contactId, sandboxId })).toEqual({ failed: 0, more: false });
  expect(await statusOf(kept)).toBe('queued');
  expect(await api.db.optOut.count({ where: { accountId: account.id, unfinished: true } })).toBe(0);
});
