import {
  lineIsQuiet,
  numberStage,
  slowWrites,
  until,
  type NumberStage,
} from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
const CHATS = 12;
const jids: string[] = [];
beforeAll(async () => {
  stage = await numberStage();
  for (let chat = 0; chat < CHATS; chat++) {
    const person = await stage.network.contact(`551190000010${String(chat).padStart(2, '0')}`);
    jids.push(person.jid);
    await stage.number.sendText(person.jid, 'hello');
  }
});
afterEach(() => {
  stage.number.rows.before = () => undefined;
});
afterAll(() => stage?.close());

const sendsToAll = (text: string) => jids.map((jid) => stage.number.sendText(jid, text));
/** Without the copies for the own phone. */
const shown = async (text: string) =>
  (await stage.network.received({ text, fate: 'shown' })).filter(({ device }) => device === 0).length;

test('stores the ratchet steps of messages to different chats together', async () => {
  const { rows } = stage.number;
  const before = rows.writes;
  slowWrites(stage);
  await Promise.all(sendsToAll('together'));
  expect(await shown('together')).toBe(CHATS);
  expect(rows.writes - before).toBeLessThanOrEqual(CHATS / 2);
  expect((await stage.network.status()).violations).toEqual([]);
});

test('sends no message while nothing can be stored, but everything else', async () => {
  const writes = stage.number.rows.holdWrites();
  const sending = Promise.all(sendsToAll('after the outage'));
  await until('a write is requested', () => writes.asked() > 0 || undefined);
  const { seq } = (await stage.network.stanzas({ way: 'in' })).at(-1)!;
  await lineIsQuiet(stage);
  expect(await stage.network.stanzas({ way: 'in', tag: 'message', after: seq })).toEqual([]);
  expect(await shown('after the outage')).toBe(0);
  writes.release();
  await sending;
  expect(await shown('after the outage')).toBe(CHATS);
});

test('stores the token given to a new contact, and does not give it with each message', async () => {
  const given = async () =>
    (await stage.network.stanzas({ way: 'in', tag: 'iq' })).filter(
      ({ stanza }) => stanza.attrs['xmlns'] === 'privacy' && stanza.attrs['type'] === 'set',
    ).length;
  await Promise.all(sendsToAll('once'));
  await Promise.all(sendsToAll('twice'));
  await lineIsQuiet(stage);
  expect(await given()).toBe(CHATS);
});
