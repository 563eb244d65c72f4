import { setTimeout as pause } from 'node:timers/promises';
import { numberStage, until, type NumberStage } from '@gwk/test/support/engine/number';

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
}, 60_000);
afterEach(() => {
  stage.number.rows.before = () => undefined;
});
afterAll(() => stage?.close());

const sendsToAll = (text: string) => jids.map((jid) => stage.number.sendText(jid, text));
/** Copies for the own phone left out. */
const shown = async (text: string) =>
  (await stage.network.received({ text, fate: 'shown' })).filter(({ device }) => device === 0).length;

test('messages of different chats have their ratchet steps stored together', async () => {
  const { rows } = stage.number;
  rows.before = (what) => (what === 'session' ? pause(50).then(() => undefined) : undefined);
  const before = rows.writes;
  await Promise.all(sendsToAll('together'));
  expect(await shown('together')).toBe(CHATS);
  expect(rows.writes - before).toBeLessThanOrEqual(CHATS / 2);
  expect((await stage.network.status()).violations).toEqual([]);
});

test('while nothing can be stored no message leaves, and everything else does', async () => {
  const { rows } = stage.number;
  let back!: () => void;
  const away = new Promise<void>((resolve) => (back = resolve));
  let asked = 0;
  rows.before = (what) => {
    if (what !== 'session') return undefined;
    asked += 1;
    return away;
  };
  const sending = Promise.all(sendsToAll('after the outage'));
  await until('a write is asked for', () => (asked > 0 ? true : undefined));
  const { seq } = (await stage.network.stanzas({ way: 'in' })).at(-1)!;
  await stage.number.driver.sendPresence(jids[0]!, 'typing');
  await stage.network.waitStanza({ way: 'in', tag: 'chatstate', after: seq });
  expect(await stage.network.stanzas({ way: 'in', tag: 'message', after: seq })).toEqual([]);
  expect(await shown('after the outage')).toBe(0);
  back();
  await sending;
  expect(await shown('after the outage')).toBe(CHATS);
});

test('what a new contact is given after a message is remembered, and not given with each', async () => {
  const { driver } = stage.number;
  const given = async () =>
    (await stage.network.stanzas({ way: 'in', tag: 'iq' })).filter(
      ({ stanza }) => stanza.attrs['xmlns'] === 'privacy' && stanza.attrs['type'] === 'set',
    ).length;
  await Promise.all(sendsToAll('once'));
  await Promise.all(sendsToAll('twice'));
  const { seq } = (await stage.network.stanzas({ way: 'in' })).at(-1)!;
  await driver.sendPresence(jids[0]!, 'typing');
  await stage.network.waitStanza({ way: 'in', tag: 'chatstate', after: seq });
  expect(await given()).toBe(CHATS);
});
