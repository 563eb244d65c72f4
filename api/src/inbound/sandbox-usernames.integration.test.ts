import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { EventOut } from '../resources/event.js';
import type { InstanceOut } from '../resources/instance.js';
import type { OptOutOut } from '../resources/opt-out.js';
import type { SandboxInboundOut } from '../resources/sandbox.js';
import type { ApiClient } from '@gwk/test/support/api/client';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';

/** A person with a username and no phone number, who writes to a sandbox. */
let api: TestApi;
let client: ApiClient;
let sandbox: string;
beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  client = await api.clientOf(await api.account());
  sandbox = await newSandbox();
});

const LID = '201234567890123@lid';
const PERSON = { id: LID, username: 'ana.souza' };
const newSandbox = async () => {
  const body = { name: newUuid(), kind: 'sandbox' };
  return (await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id;
};
const post = (body: object, instance = sandbox) =>
  client.call<SandboxInboundOut>('POST', `/v1/instances/${instance}/sandbox/inbound`, {
    body: { from: LID, ...body },
  });
const say = (text: string, given: object = { username: 'ana.souza' }, instance = sandbox) =>
  post({ text, ...given }, instance);
const readEvent = async ({ body: { event_id } }: { body: SandboxInboundOut }) =>
  (await client.call<EventOut>('GET', `/v1/events/${event_id}`)).body;
const events = async (type: string, instance = sandbox) => {
  const query = { instance_id: instance, limit: '200' };
  const { data } = (await client.call<Page<EventOut>>('GET', '/v1/events', { query })).body;
  return data.filter((event) => event.type === type).map((event) => event.data);
};
const send = (to = LID) =>
  client.call('POST', '/v1/messages', {
    body: { instance_id: sandbox, to, type: 'text', text: { body: newUuid() } },
  });

test('events show the username, and later ones that do not state it, too', async () => {
  const first = await readEvent(await say('bom dia'));
  expect(first.data).toMatchObject({
    chat: { ...PERSON, is_group: false },
    from: { ...PERSON, name: null },
  });
  expect(first.data['chat']).not.toHaveProperty('phone');
  expect((await readEvent(await say('oi', {}))).data).toMatchObject({ chat: PERSON, from: PERSON });
  expect((await send()).status).toBe(202);
});

test('replies to a menu, votes, quotes and calls have it', async () => {
  const reply = { option_id: 'yes', label: 'Sim', source: 'button' };
  const clicked = await readEvent(await say('Sim', { username: 'ana.souza', reply }));
  expect(clicked).toMatchObject({ type: 'message.interactive_reply', data: { from: PERSON, reply } });
  const quoted = await readEvent(await say('sim', { quoted_wa_message_id: '3EB0' }));
  expect(quoted.data).toMatchObject({ from: PERSON, quoted_wa_message_id: '3EB0' });
  const call = await readEvent(await post({ call: {} }));
  expect(call).toMatchObject({ type: 'call.received', data: { from: PERSON } });
  const change = { chat: '120363041234567890@g.us', joined: [LID, '5511976543210'] };
  const joined = await readEvent(await post({ username: 'ana.s', group_update: change }));
  expect(joined.data).toMatchObject({
    from: { id: LID, username: 'ana.s' },
    joined: [PERSON, { phone: '5511976543210', username: null }],
  });
});

test('an opt-out by word and its end', async () => {
  await say('SAIR');
  expect(await events('contact.opted_out')).toMatchObject([{ contact: PERSON, keyword: 'SAIR' }]);
  expect((await send()).status).toBe(422);
  const { body } = await client.call<Page<OptOutOut>>('GET', '/v1/opt-outs');
  expect(body.data).toMatchObject([
    { contact_id: LID, phone: null, username: 'ana.souza', scope: 'sandbox', instance_id: sandbox },
  ]);
  await say('VOLTAR');
  expect(await events('contact.opted_in')).toMatchObject([{ contact: PERSON }]);
  expect((await send()).status).toBe(202);
});

test('another username is one contact.updated, in this sandbox only', async () => {
  const other = await newSandbox();
  await say('oi');
  await say('oi', { username: 'ana.souza' }, other);
  await Promise.all([1, 2, 3].map(() => say('oi', { username: 'ana.s' })));
  expect(await events('contact.updated')).toMatchObject([
    { contact: { id: LID, username: 'ana.s' }, previous: PERSON },
  ]);
  expect((await readEvent(await say('oi', {}, other))).data['from']).toMatchObject(PERSON);
  expect(await events('contact.updated', other)).toEqual([]);
});

test('the username of a phone number holds in the sandbox, and says nothing to real instances', async () => {
  const phone = '5511987654321';
  await say('oi', { from: phone, username: 'ana.souza' });
  expect((await readEvent(await say('oi', { from: phone }))).data['from']).toMatchObject({
    phone,
    username: 'ana.souza',
  });
  await say('oi', { from: phone, username: 'ana.s' });
  expect(await events('contact.updated')).toMatchObject([
    { contact: { phone, username: 'ana.s' }, previous: { phone, username: 'ana.souza' } },
  ]);
  await say('oi');
  const { accountId } = await api.db.instance.findUniqueOrThrow({
    where: { id: fromPublicId('instance', sandbox)! },
  });
  const names = await api.db.contactName.findMany({ where: { accountId } });
  expect(names.map(({ username }) => username)).toEqual([null, null]);
});

test.each<[string, object, string]>([
  ['a device of a LID', { from: '201234567890123:7@lid' }, 'invalid-phone'],
  ['a LID with letters', { from: 'ana@lid' }, 'invalid-phone'],
  ['a network id of a phone number', { from: '5511987654321@s.whatsapp.net' }, 'invalid-phone'],
  ['a username with a space', { username: 'ana souza' }, 'validation-error'],
  ['a username that is too long', { username: 'x'.repeat(36) }, 'validation-error'],
])('refuses %s', async (_, given, code) => {
  const { body } = await say('oi', given);
  expect((body as { type?: string }).type?.split('/').at(-1)).toBe(code);
});
