import type { OutboundContent } from '@gwk/core/resources/message';
import {
  numberStage,
  QR,
  SimulatedInstance,
  until,
  type NumberStage,
} from '@gwk/test/support/engine/simulated-instance';

/** A person with a username whose phone number the network hides. */
let stage: NumberStage;
let bia: NumberStage['ana'];
let group: string;
beforeAll(async () => {
  stage = await numberStage();
  const { network, phone, ana } = stage;
  bia = await network.contact('5511900000014', { name: 'Bia', username: 'bia.costa', phoneHidden: true });
  group = await network.group('Team', [ana, phone, bia]);
});
beforeEach(() => {
  stage.number.rows.before = () => undefined;
});
afterAll(() => stage.close());

const ofBia = () => ({ from: bia.lidJid, alt: null, username: 'bia.costa' });
const inChat = () => ({ ...ofBia(), chat: bia.lidJid, from_me: false });

test('a direct message has the username and no phone number', async () => {
  expect(await stage.number.gets(await bia.writes('oi', { to: stage.phone.number }))).toMatchObject(inChat());
  const named = await stage.network.contact('5511900000015', { name: 'Eva', username: 'eva' });
  const id = await named.writes('oi', { to: stage.phone.number, options: { addressing: 'pn' } });
  expect(await stage.number.gets(id)).toMatchObject({
    from: named.jid,
    alt: named.lidJid,
    username: 'eva',
  });
});

test('a person without a username has none, and a text that is no username is ignored', async () => {
  const { number, ana, phone } = stage;
  expect(await number.gets(await ana.writes('oi', { to: phone.number }))).not.toHaveProperty('username');
  const attributes = {
    username: 'x'.repeat(36),
    recipient_username: 'mine',
    peer_recipient_username: 'mine',
  };
  const forged = await ana.writes('oi', { to: phone.number, options: { attributes } });
  expect(await number.gets(forged)).not.toHaveProperty('username');
});

test('a message that the own phone sends has the username of the chat', async () => {
  const id = await stage.phone.writesOnPhone(bia.number, 'from the phone');
  expect(await stage.number.gets(id)).toMatchObject({
    chat: bia.lidJid,
    from_me: true,
    username: 'bia.costa',
  });
  const toGroup = await stage.phone.writesOnPhone(group, 'to all');
  expect(await stage.number.gets(toGroup)).not.toHaveProperty('username');
});

test.each([
  ['the contact', () => bia.lidJid],
  ['a group', () => group],
])('replies to a menu, votes and quotes in the chat of %s have it', async (_, chat) => {
  const { number } = stage;
  const buttons = [{ type: 'reply' as const, label: 'B', id: 'b' }];
  const menu: OutboundContent = { type: 'interactive', interactive: { body: 'Which?', buttons } };
  const options = [{ id: 'a', label: 'A' }];
  const poll: OutboundContent = { type: 'poll', poll: { name: 'Which?', options, selectable: 1 } };

  const sentMenu = await number.send(number.message(chat(), menu));
  const tap = await number.gets(await bia.taps(await bia.receives({ id: sentMenu.id }), 'b'));
  expect(tap).toMatchObject({
    ...ofBia(),
    click: { option_id: 'b', in_reply_to_wa_message_id: sentMenu.id },
  });

  const sentPoll = await number.send(number.message(chat(), poll));
  const vote = await number.gets(await bia.votes(await bia.receives({ id: sentPoll.id }), ['A']));
  expect(vote).toMatchObject({ ...ofBia(), vote: { poll_wa_message_id: sentPoll.id } });

  const { id } = await number.sendText(chat(), 'is it you?');
  const quote = await number.gets(await bia.replies(await bia.receives({ id }), 'it is'));
  expect(quote).toMatchObject({ ...ofBia(), text: 'it is', quoted_wa_message_id: id });
});

test('a message of a group and of a broadcast list has it', async () => {
  const { number, phone } = stage;
  const inGroup = await number.gets(await bia.writes('oi all', { to: group }));
  expect(inGroup).toMatchObject({ ...ofBia(), chat: group });
  const list = await bia.writesToList('1234567890@broadcast', [phone.number], 'news');
  expect(await number.gets(list)).toMatchObject({ ...inChat(), list: '1234567890@broadcast' });
});

test('a call and a change of a group name people by it', async () => {
  const { number, network, phone } = stage;
  const found = (id: string) => until(`notice ${id}`, () => number.rows.notices.find((one) => one.id === id));
  const called = await found(await bia.callsNumber(phone.number));
  expect(called).toMatchObject({ from: { id: bia.lidJid, alt: null } });
  const before = number.rows.notices.length;
  await network.changeGroup(group, { promote: [bia.number], by: bia.number });
  await phone.hasTakenAll();
  expect(number.rows.notices.slice(before)).toMatchObject([
    {
      from: { id: bia.lidJid, alt: null, username: 'bia.costa' },
      promoted: [{ id: bia.lidJid, alt: null, username: 'bia.costa' }],
    },
  ]);
});

test('the details of a group show the usernames of its members, also of one who joined later', async () => {
  const { number, network, phone } = stage;
  const eva = await network.contact('5511900000015', { name: 'Eva', username: 'eva' });
  const details = async () => (await number.driver.findGroup(group)).members;
  expect(await details()).toContainEqual({
    lid: bia.lidJid,
    phone: null,
    username: 'bia.costa',
    role: 'admin',
  });
  await network.changeGroup(group, { add: [eva.number] });
  await phone.hasTakenAll();
  expect(await details()).toContainEqual({
    lid: eva.lidJid,
    phone: eva.number,
    username: 'eva',
    role: 'member',
  });
});

test('receipts of several members name the reader', async () => {
  const { number, network, ana } = stage;
  const { id } = await number.sendText(group, 'who reads?');
  for (const person of [ana, bia]) await person.receives({ id, group });
  await network.confirmTogether([ana.number, bia.number], id, true);
  const of = (person: NumberStage['ana']) =>
    until('a receipt', () =>
      number.rows.receipts.find(
        (one) => one.waMessageId === id && one.status === 'read' && one.participant === person.lidJid,
      ),
    );
  expect(await of(bia)).toMatchObject({ participant_username: 'bia.costa' });
  expect(await of(ana)).not.toHaveProperty('participant_username');
});

test('a username that is changed or removed is stored before its notice is acknowledged', async () => {
  const { number, phone } = stage;
  await bia.renames('bia.c');
  await phone.hasTakenAll();
  expect(number.rows.usernames.splice(0)).toMatchObject([{ lid: bia.lidJid, username: 'bia.c' }]);
  await bia.renames(null);
  await phone.hasTakenAll();
  expect(number.rows.usernames.splice(0)).toMatchObject([{ lid: bia.lidJid, username: null }]);

  let failures = 0;
  number.rows.before = (what) => {
    if (what !== 'usernames') return;
    failures += 1;
    throw new Error('the API is unavailable');
  };
  await bia.renames('bia.costa');
  await until('the report', () => failures > 0 || undefined);
  number.rows.before = () => undefined;
  await number.replace();
  await phone.hasTakenAll();
  expect(number.rows.usernames.splice(0)).toMatchObject([{ lid: bia.lidJid, username: 'bia.costa' }]);
});

test('the history of a new device has usernames', async () => {
  const { network, running } = stage;
  const other = await network.phone('5511900000005', { name: 'Other' });
  await network.call('remember', {
    number: other.number,
    messages: [{ with: bia.number, text: 'long ago' }],
  });
  const device = new SimulatedInstance(running);
  device.connect(QR);
  await other.scan((await device.happens('qr')).code);
  await until('the username', () => device.rows.usernames[0]);
  expect(device.rows.usernames).toEqual([{ lid: bia.lidJid, username: 'bia.costa' }]);
  await device.driver.close();
});

test('the phone number comes with the next message once the network shows it', async () => {
  await bia.showsPhone();
  const id = await bia.writes('my number', { to: stage.phone.number });
  expect(await stage.number.gets(id)).toMatchObject({ ...inChat(), alt: bia.jid });
});

test('keeps to the protocol', async () => {
  const { violations, unhandled } = await stage.network.status();
  expect({ violations, unhandled }).toEqual({ violations: [], unhandled: [] });
});
