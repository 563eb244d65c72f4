import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { EventOut } from '../resources/event.js';
import type { InstanceOut } from '../resources/instance.js';
import type { SandboxInboundOut } from '../resources/sandbox.js';
import type { ApiClient } from '@gwk/test/support/api/client';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';

let api: TestApi;
let client: ApiClient;
let sandbox: string;
beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  client = await api.clientOf(await api.account());
  const body = { name: newUuid(), kind: 'sandbox' };
  sandbox = (await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id;
});

const ANA = '5511987654321';
const BIA = '5511976543210';
const GROUP = '120363000000000001@g.us';
const person = (phone: string) => ({ id: `${phone}@s.whatsapp.net`, phone, username: null, name: null });
const post = (body: object, headers: Record<string, string> = {}) =>
  client.call<SandboxInboundOut>('POST', `/v1/instances/${sandbox}/sandbox/inbound`, {
    body: { from: ANA, ...body },
    headers,
  });
const received = async (body: object): Promise<EventOut> => {
  const { status, body: answer } = await post(body);
  expect([status, answer.message_id, answer.wa_message_id]).toEqual([200, null, null]);
  const event = (await client.call<EventOut>('GET', `/v1/events/${answer.event_id}`)).body;
  expect(event.type).toBe(answer.event_type);
  return event;
};
const countSent = () =>
  api.db.message.count({
    where: { instanceId: fromPublicId('instance', sandbox)!, direction: 'outbound' },
  });

test('receives a call', async () => {
  expect(await received({ call: {} })).toMatchObject({
    type: 'call.received',
    data: { from: person(ANA), video: false, group: false, missed: false, rejected: false },
  });
  expect((await received({ call: { video: true, missed: true, chat: GROUP } })).data).toMatchObject({
    ...{ video: true, group: true, missed: true },
    chat: { id: GROUP, is_group: true },
  });
});

test('rejects a call that rings if the policy says so, with its text', async () => {
  const policy = { reject_calls: { enabled: true, text: 'Please write to us.' } };
  await client.call('PATCH', `/v1/instances/${sandbox}`, { body: { policy } });
  expect((await received({ call: { missed: true } })).data).toMatchObject({ rejected: false });
  expect(await countSent()).toBe(0);
  expect((await received({ call: {} })).data).toMatchObject({ rejected: true });
  expect(await countSent()).toBe(1);
});

test('receives a change of a group', async () => {
  const changes = { reason: 'add', subject: 'Team', description: null, role: 'admin' };
  const { type, data } = await received({ group_update: { chat: GROUP, joined: [BIA], ...changes } });
  expect(type).toBe('group.updated');
  expect(data).toEqual({
    ...{ instance_id: sandbox, timestamp: expect.any(String) as string, from_me: false },
    ...{ chat: { id: GROUP, is_group: true }, from: person(ANA), joined: [person(BIA)], ...changes },
  });
});

test('is one event for requests with the same key', async () => {
  const key = { 'idempotency-key': newUuid() };
  const [first, second] = [await post({ call: {} }, key), await post({ call: {} }, key)];
  expect(second.body).toEqual(first.body);
});

test.each<[string, object, string]>([
  ['nothing', {}, 'validation-error'],
  ['a text and a call', { text: 'oi', call: {} }, 'validation-error'],
  ['a reply without a text', { call: {}, quoted_wa_message_id: 'X' }, 'validation-error'],
  ['a group without a change', { group_update: { chat: GROUP } }, 'validation-error'],
  ['a group with an absent list', { group_update: { chat: GROUP, joined: null } }, 'validation-error'],
  ['a chat that is no group', { call: { chat: `${ANA}@s.whatsapp.net` } }, 'validation-error'],
  ['a member without a phone', { group_update: { chat: GROUP, left: ['Bia'] } }, 'invalid-phone'],
])('refuses %s', async (_, body, code) => {
  const answer = await post(body);
  const { type } = answer.body as unknown as { type: string };
  expect([answer.status, type.split('/').at(-1)]).toEqual([422, code]);
});
