import { Readable } from 'node:stream';
import { numberStage, until, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
let bia: NumberStage['ana'];
beforeAll(async () => {
  stage = await numberStage();
  bia = await stage.network.contact('5511900000014', { name: 'Bia' });
});
afterAll(() => stage.close());

const countQueries = () => stage.network.groupQueries(stage.phone.number);
/** Waits until the engine has received all notices. */
const noticesArrive = () => stage.phone.hasTakenAll();

test('asks the network for a group once for many messages, and not after notices', async () => {
  const { number, network, phone, ana } = stage;
  const group = await network.group('Team', [phone, ana]);
  const before = await countQueries();
  const sent = await Promise.all(['1', '2', '3'].map((body) => number.sendText(group, body)));
  for (const { id } of sent) await ana.receives({ id, group });
  await network.changeGroup(group, {
    add: [bia.number],
    promote: [bia.number],
    subject: 'All',
    description: 'Ours',
    announcement: true,
    expiration: 86_400,
  });
  await noticesArrive();
  const text = { body: `with @${bia.number}` };
  const { id } = await number.send(number.message(group, { type: 'text', text, mentions: [bia.number] }));
  for (const person of [ana, bia]) await person.receives({ id, group });
  await network.changeGroup(group, { remove: [ana.number], announcement: false, expiration: 0 });
  await noticesArrive();
  const last = await number.sendText(group, 'without Ana');
  await bia.receives({ id: last.id, group });
  expect(await network.received({ id: last.id, to: ana.number })).toEqual([]);
  expect((await countQueries()) - before).toBe(1);
});

test('sends to a group whose members hide their phone numbers', async () => {
  const { number, network, phone, ana } = stage;
  const group = await network.group('Hidden', [ana, phone, bia], { showsPhones: false });
  const { id } = await number.sendText(group, 'hello');
  for (const person of [ana, bia]) await person.receives({ id, group });
});

test('finds all mentioned members who hide their phone numbers with one query', async () => {
  const { number, network, phone, ana } = stage;
  const [dora, emil] = [await network.contact('5511900000016'), await network.contact('5511900000017')];
  const group = await network.group('Veiled', [phone, ana, dora, emil], { showsPhones: false });
  const { seq } = (await network.stanzas({ way: 'in' })).at(-1)!;
  const text = { body: `@${dora.number} and @${emil.number}` };
  const mentions = [dora.number, emil.number];
  const { id } = await number.send(number.message(group, { type: 'text', text, mentions }));
  expect(await dora.receives({ id, group })).toMatchObject({
    message: { extendedTextMessage: { contextInfo: { mentionedJid: [dora.lidJid, emil.lidJid] } } },
  });
  const queries = (await network.stanzas({ way: 'in', after: seq })).filter(
    ({ stanza }) => stanza.attrs['xmlns'] === 'usync',
  );
  // One for the mentioned, one for the devices of the members.
  expect(queries).toHaveLength(2);
});

test('sends to the others while a device of a member has no keys, and starts each session once', async () => {
  const { number, network, running, phone, ana } = stage;
  const cleo = await network.contact('5511900000015', { name: 'Cleo' });
  // A linked device that the network lists, and that has uploaded no keys.
  running.network.world.people.need(bia.number).devices = () => [0, 7];
  const group = await network.group('Keyless', [phone, ana, bia, cleo]);
  const { seq } = (await network.stanzas({ way: 'in' })).at(-1)!;
  for (const body of ['first', 'second']) {
    const { id } = await number.sendText(group, body);
    for (const person of [ana, bia, cleo]) await person.receives({ id, group });
  }
  const stanzas = await network.stanzas({ way: 'in', after: seq });
  const queries = stanzas.filter(({ stanza }) => stanza.attrs['xmlns'] === 'encrypt');
  expect(queries).toHaveLength(1);
});

describe('reads', () => {
  test('a group with the roles and addresses of its members, kept current by notices', async () => {
    const { number, network, phone, ana } = stage;
    const group = await network.group('Readers', [ana, phone]);
    await network.changeGroup(group, { subject: 'Books', description: 'Monthly', announcement: true });
    await noticesArrive();
    const before = await countQueries();
    const found = await number.driver.findGroup(group);
    expect(found).toMatchObject({
      jid: group,
      subject: 'Books',
      description: 'Monthly',
      announcement: true,
      size: 2,
      role: 'member',
    });
    expect(found.members).toContainEqual({
      lid: ana.lidJid,
      phone: ana.number,
      username: null,
      role: 'superadmin',
    });
    await network.changeGroup(group, { add: [bia.number], promote: [phone.number] });
    await noticesArrive();
    const changed = await number.driver.findGroup(group);
    expect(changed).toMatchObject({ size: 3, role: 'admin' });
    expect(changed.members).toContainEqual({
      lid: bia.lidJid,
      phone: bia.number,
      username: null,
      role: 'member',
    });
    expect((await countQueries()) - before).toBe(1);
  });

  test('a group whose members hide their phone numbers', async () => {
    const { number, network, phone, ana } = stage;
    const group = await network.group('Secret', [ana, phone], { showsPhones: false });
    const { members } = await number.driver.findGroup(group);
    expect(members).toContainEqual({ lid: ana.lidJid, phone: null, username: null, role: 'superadmin' });
  });

  test('no group that the number is not in', async () => {
    const group = await stage.network.group('Private', [stage.ana, bia]);
    await expect(stage.number.driver.findGroup(group)).rejects.toMatchObject({ retriable: false });
  });

  test('the list of its groups with one query', async () => {
    const { number, network, phone, ana } = stage;
    const group = await network.group('Listed', [phone, ana], { announcement: true });
    const other = await network.group('Unlisted', [ana, bia]);
    const before = await countQueries();
    const listed = await number.driver.listGroups();
    await number.driver.listGroups();
    expect((await countQueries()) - before).toBe(1);
    expect(listed).toContainEqual({
      jid: group,
      subject: 'Listed',
      announcement: true,
      is_community: false,
      parent: null,
      size: 2,
      role: 'superadmin',
    });
    expect(listed.map(({ jid }) => jid)).not.toContain(other);
  });
});

test('a community says that it is one, and its groups name it', async () => {
  const { number, network, phone, ana } = stage;
  const community = await network.group('Village', [ana, phone], { isCommunity: true });
  const settings = { community: community.split('@')[0]!, showsPhones: false };
  const group = await network.group('News of the village', [ana, phone], settings);
  expect(await number.driver.findGroup(community)).toMatchObject({ is_community: true, parent: null });
  expect(await number.driver.findGroup(group)).toMatchObject({ is_community: false, parent: community });
});

describe('fails at once:', () => {
  const refused = (code: string, words: string) => ({
    code,
    certain: true,
    retriable: false,
    text: expect.stringContaining(words) as string,
  });

  test('a group that the number is not in', async () => {
    const group = await stage.network.group('Others', [stage.ana, bia]);
    await expect(stage.number.sendText(group, 'hello?')).rejects.toMatchObject(
      refused('wa_error', 'not a member'),
    );
  });

  test('an unknown group', async () => {
    await expect(stage.number.sendText('120363099999999999@g.us', 'hello?')).rejects.toMatchObject(
      refused('recipient_not_on_whatsapp', 'does not exist'),
    );
  });

  test('an unknown LID', async () => {
    await expect(stage.number.sendText('199999999999999@lid', 'hello?')).rejects.toMatchObject(
      refused('recipient_not_on_whatsapp', 'no account'),
    );
  });

  test('a group that the number was removed from', async () => {
    const { number, network, phone, ana } = stage;
    const group = await network.group('Left', [ana, phone]);
    await number.sendText(group, 'still here');
    await network.changeGroup(group, { remove: [phone.number] });
    await noticesArrive();
    await expect(number.sendText(group, 'gone')).rejects.toMatchObject(refused('wa_error', 'not a member'));
    await network.changeGroup(group, { add: [phone.number] });
    await noticesArrive();
    const { id } = await number.sendText(group, 'back');
    await ana.receives({ id, group });
  });

  test('a removal whose notice is late', async () => {
    const { number, network, phone, ana } = stage;
    const group = await network.group('Late', [ana, phone]);
    await number.sendText(group, 'still here');
    await network.holdMail(phone.number);
    await network.changeGroup(group, { remove: [phone.number] });
    await expect(number.sendText(group, 'gone')).rejects.toMatchObject(refused('wa_error', 'not a member'));
    await network.releaseMail(phone.number);
  });

  test.each([{}, { community: '120363088888888888', showsPhones: false }])(
    'a group where only admins may send (%j), until the number is one',
    async (settings) => {
      const { number, network, phone, ana } = stage;
      const group = await network.group('News', [ana, phone, bia], { announcement: true, ...settings });
      await expect(number.sendText(group, 'no')).rejects.toMatchObject(refused('wa_error', 'only admins'));
      const id = await ana.writes('news', { to: group });
      await number.gets(id);
      await network.changeGroup(group, { promote: [phone.number] });
      await noticesArrive();
      const sent = await number.sendText(group, 'yes');
      await bia.receives({ id: sent.id, group });
      await network.changeGroup(group, { demote: [phone.number] });
      await noticesArrive();
      await expect(number.sendText(group, 'no more')).rejects.toMatchObject(
        refused('wa_error', 'only admins'),
      );
    },
  );
});

test('uploads no file for a group that refuses the message', async () => {
  const { number, network, phone, ana } = stage;
  const group = await network.group('Silent', [ana, phone], { announcement: true });
  const finished = { file: '1', mimetype: 'image/jpeg', size: 1, sha256: '00', filename: null };
  const message = number.message(group, { type: 'image', image: { media: {} }, finished });
  const read = jest.fn(() => Readable.from(['x']));
  number.rows.files.set(message.message_id, read);
  await expect(number.send(message)).rejects.toMatchObject({ code: 'wa_error', certain: true });
  expect(read).not.toHaveBeenCalled();
});

test('reacts in a group where only admins may send', async () => {
  const { number, network, phone, ana } = stage;
  const group = await network.group('News', [ana, phone], { announcement: true });
  const id = await ana.writes('news', { to: group });
  const { from } = await number.gets(id);
  const message = { wa_message_id: id, chat: group, from_me: false, participant: from };
  await number.driver.edit(
    { kind: 'react', stanza_id: '3EB0AAAAAAAAAAAAAA01', message, emoji: '👍' },
    { mayWrite: () => true, signal: AbortSignal.timeout(10_000) },
  );
});

test.each(['420', '421', '429', '500', '503'])('%s may be tried again', async (code) => {
  const { number, ana, network } = stage;
  await network.rule({ on: 'message', answer: Number(code), times: 1 });
  const message = number.message(ana.jid, { type: 'text', text: { body: `later ${code}` } });
  await expect(number.send(message)).rejects.toMatchObject({
    code: 'wa_error',
    certain: true,
    retriable: true,
  });
  const { id } = await number.send(message);
  await ana.receives({ id });
});

test('asks for the group again when the network refuses its type of address', async () => {
  const { number, network, phone, ana } = stage;
  const group = await network.group('Moved', [ana, phone]);
  await number.sendText(group, 'by LID');
  await network.changeGroup(group, { addressing: 'pn' });
  const message = number.message(group, { type: 'text', text: { body: 'by phone' } });
  await expect(number.send(message)).rejects.toMatchObject({ retriable: true });
  const { id } = await number.send(message);
  await until('Ana has it', async () => (await network.received({ id, to: ana.number }))[0]);
});

test('keeps to the protocol', async () => {
  const { violations, unhandled } = await stage.network.status();
  expect({ violations, unhandled }).toEqual({ violations: [], unhandled: [] });
});
