import { newUuid } from '@gwk/core/ids/ids';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { linkNames } from '../contacts/contacts.js';
import {
  sharedInternalApi,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';

let internalApi: InternalApiWorld;
let engine: TestEngine;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
beforeEach(async () => {
  engine = await (await internalApi.addEngine()).acquire();
});
afterAll(() => internalApi.close());

let people = 0;
const someone = () => `55117${String(10_000_000 + people++)}`;
const NOW = Date.now();
const timer = (seconds: number, agoS: number) => ({
  seconds,
  set_at: new Date(NOW - agoS * 1_000).toISOString(),
});
const message = (user: string, given: Partial<InboundMessage> = {}): InboundMessage => ({
  wa_message_id: newUuid(),
  chat: user.includes('@') ? user : `${user}@s.whatsapp.net`,
  from: user.includes('@') ? user : `${user}@s.whatsapp.net`,
  from_name: null,
  from_me: false,
  at: new Date(NOW).toISOString(),
  type: 'text',
  text: 'oi',
  quoted_wa_message_id: null,
  ...given,
});
const notice = (user: string, given: InboundMessage['timer']) =>
  message(user, { type: 'other', text: null, is_timer_only: true, timer: given! });
const receive = (...messages: InboundMessage[]) => engine.call('inbound', { messages });
/** The timer that an engine gets with the next message to a contact. */
async function claimedTimer(to: string, by = engine): Promise<unknown> {
  await internalApi.accept({ instance: by.instanceId, to });
  const [claimed] = await by.claim();
  await by.build(claimed!.message_id);
  await by.sent(claimed!.message_id);
  return claimed!.timer;
}

test('a chat without a timer has none', async () => {
  const to = someone();
  await receive(message(to));
  expect(await claimedTimer(to)).toBeUndefined();
});

test.each<[string, (to: string) => InboundMessage, unknown]>([
  ['a message of the contact', (to) => message(to, { timer: timer(86_400, 60) }), timer(86_400, 60)],
  [
    'a message from the phone',
    (to) => message(to, { from_me: true, timer: timer(604_800, 5) }),
    timer(604_800, 5),
  ],
  ['a notice', (to) => notice(to, timer(7_776_000, 9)), timer(7_776_000, 9)],
  ['the end', (to) => notice(to, timer(0, 9)), timer(0, 9)],
])('%s sets the timer of the chat', async (_, given, expected) => {
  const to = someone();
  await receive(given(to));
  expect(await claimedTimer(to)).toEqual(expected);
});

test('the newest setting counts, in any order and any batch', async () => {
  const to = someone();
  await receive(
    notice(to, timer(604_800, 30)),
    notice(to, timer(0, 10)),
    message(to, { timer: timer(86_400, 20) }),
  );
  expect(await claimedTimer(to)).toEqual(timer(0, 10));
  await receive(message(to, { timer: timer(604_800, 30) }));
  expect(await claimedTimer(to)).toEqual(timer(0, 10));
  await receive(notice(to, timer(86_400, 0)));
  expect(await claimedTimer(to)).toEqual(timer(86_400, 0));
});

test('of two settings of one second the later report counts', async () => {
  const to = someone();
  await receive(notice(to, timer(604_800, 30)), notice(to, timer(0, 30)));
  expect(await claimedTimer(to)).toEqual(timer(0, 30));
  await receive(notice(to, timer(86_400, 30)));
  expect(await claimedTimer(to)).toEqual(timer(86_400, 30));
});

test('a repeated report does not set the timer again', async () => {
  const to = someone();
  const first = notice(to, timer(604_800, 30));
  await receive(first);
  await receive(notice(to, timer(0, 30)));
  await receive(first);
  expect(await claimedTimer(to)).toEqual(timer(0, 30));
});

test('a notice is no message and has no event', async () => {
  const to = someone();
  await receive(notice(to, timer(86_400, 1)));
  const where = { instanceId: engine.instanceId };
  expect(await internalApi.world.database.message.count({ where })).toBe(0);
  expect(await internalApi.world.database.event.count({ where })).toBe(0);
  const conversation = await internalApi.world.database.conversation.findFirstOrThrow({ where });
  expect(conversation.lastWroteAt).toBeNull();
});

test('the next engine gets it too', async () => {
  const to = someone();
  await receive(notice(to, timer(86_400, 1)));
  await internalApi.operator.call('engine-ended', { instance_id: engine.instanceId, pod: engine.pod });
  const next = await (await internalApi.addPod(engine.instanceId, `${engine.pod}x`)).acquire();
  expect(await claimedTimer(to, next)).toEqual(timer(86_400, 1));
});

test.each([
  [30, 10],
  [10, 30],
])('the newer one stays when two conversations turn out to be one', async (first, second) => {
  const phone = someone();
  const lid = `${people++}0000001@lid`;
  await receive(notice(phone, timer(first, first)), notice(lid, timer(second, second)));
  const { database, sealer } = internalApi.world;
  const names = { lid, phone, accountId: internalApi.world.accountId, instanceId: engine.instanceId };
  await linkNames({ database, sealer }, names);
  expect(await claimedTimer(phone)).toEqual(timer(10, 10));
});
