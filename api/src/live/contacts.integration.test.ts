import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import type { ContactCheckOut } from '@gwk/core/resources/live';
import type { ApiClient } from '@gwk/test/support/api/client';
import type { FakeEngine } from '@gwk/test/support/api/fake-engine';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { InstanceOut } from '../resources/instance.js';

/** Contact checks that messages answer or correct. operations.integration.test.ts has the others. */
let api: TestApi;
let client: ApiClient;
let id: string;
let engine: FakeEngine;
beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  client = await api.clientOf(await api.account());
  id = (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'loja' } })).body.id;
  engine = await api.engine(id);
  await engine.connect();
});
afterEach(() => engine.stop());

const LID = '101234567890123@lid';
const uuid = () => fromPublicId('instance', id)!;
const check = (person: string) =>
  client.call<ContactCheckOut>('GET', `/v1/instances/${id}/contacts/${person}`);
const answer = (jid: string | null): void => void (engine.handlers['check-contact'] = () => ({ jid }));
const received = (more: Partial<InboundMessage>): InboundMessage => ({
  ...{ wa_message_id: newUuid(), chat: LID, from: LID, from_name: null, from_me: false, text: 'oi' },
  ...{ at: new Date().toISOString(), type: 'text', quoted_wa_message_id: null },
  ...more,
});

const PAIR = { chat: LID, from: LID, alt: '5511987654321@s.whatsapp.net' };
const pair = { phone: '5511987654321', exists: true, jid: PAIR.alt, lid: LID, id: LID, username: null };
test('of a person who has just written answers without the network, in both directions', async () => {
  await engine.call('inbound', { messages: [received(PAIR)] });
  expect((await check('5511987654321')).body).toEqual(pair);
  expect((await check(LID)).body).toEqual(pair);
  expect(engine.received).toEqual([]);
  const data = { sentAt: new Date(0), deliveredAt: new Date(0) };
  await api.db.message.updateMany({ where: { instanceId: uuid() }, data });
  engine.handlers['check-contact'] = () => ({ jid: PAIR.alt, lid: LID });
  await check('5511987654321');
  expect(engine.received).toHaveLength(1);
});

test.each<[string, () => Promise<unknown>]>([
  ['a message arrives', () => engine.call('inbound', { messages: [received(PAIR)] })],
  [
    'one is sent',
    async () => {
      const body = { instance_id: id, to: '5511987654321', type: 'text', text: { body: 'oi' } };
      await client.call('POST', '/v1/messages', { body });
      const [claimed] = await engine.claim(1);
      const { message_id } = claimed!;
      await engine.call('built', { messages: [{ message_id, built: 'AA==', rendered_as: null }] });
      const at = new Date().toISOString();
      const outcome = { kind: 'sent' as const, message_id, at, rendered_as: null };
      await engine.call('outcomes', { outcomes: [outcome] });
    },
  ],
])('that was negative is corrected once %s', async (_, happens) => {
  answer(null);
  expect((await check('5511987654321')).body.exists).toBe(false);
  await happens();
  expect((await check('5511987654321')).body).toMatchObject({ exists: true, jid: PAIR.alt });
  expect(engine.received.filter(({ name }) => name === 'check-contact')).toHaveLength(1);
});

test.each([
  ['no', null, 3_600_000],
  ['yes', '5511987654321@s.whatsapp.net', 24 * 3_600_000],
])('keeps %s for its time', async (_, jid, keptMs) => {
  answer(jid);
  await check('5511987654321');
  for (const [age, asked] of [
    [keptMs - 60_000, 1],
    [keptMs + 1, 2],
  ] as const) {
    const data = { checkedAt: new Date(Date.now() - age) };
    await api.db.contactCheck.updateMany({ where: { instanceId: uuid() }, data });
    expect((await check('5511987654321')).body.exists).toBe(jid !== null);
    expect(engine.received).toHaveLength(asked);
  }
});
