import type { BaileysEventMap, WASocket } from '@whiskeysockets/baileys';
import type { Person } from './control/client.js';
import { setStage, type Stage } from './testing/stage.js';
import { until } from './testing/stock-client.js';

const NAMED = '5511900000003';
const HIDDEN = '5511900000004';

let stage: Stage;
let eva: Person;
let bia: Person;
/** All events of the watched clients. */
const reported: unknown[] = [];
const histories: BaileysEventMap['messaging-history.set'][] = [];

function watch(socket: WASocket): void {
  socket.ev.process((events) => void reported.push(events));
  socket.ev.on('messaging-history.set', (history) => void histories.push(history));
}

beforeAll(async () => {
  stage = await setStage();
  eva = await stage.network.contact(NAMED, { name: 'Eva', username: 'eva.named' });
  bia = await stage.network.contact(HIDDEN, { name: 'Bia', username: 'bia.hidden', phoneHidden: true });
  watch(stage.client.socket);
});
afterAll(() => stage.close());

const pnOf = (person: Person) => stage.client.socket.signalRepository.lidMapping.getPNForLID(person.lidJid);

describe('a person with a username', () => {
  it('is named by LID, phone number and username in a direct chat', async () => {
    const { key } = await stage.client.gotId(await eva.writes('oi', { to: stage.phone.number }));
    expect(key).toMatchObject({
      ...{ remoteJid: eva.lidJid, remoteJidAlt: eva.jid, remoteJidUsername: 'eva.named' },
      addressingMode: 'lid',
    });
    const byPhone = await eva.writes('oi', { to: stage.phone.number, options: { addressing: 'pn' } });
    expect((await stage.client.gotId(byPhone)).key).toMatchObject({
      ...{ remoteJid: eva.jid, remoteJidAlt: eva.lidJid, remoteJidUsername: 'eva.named' },
    });
  });

  it('is unnamed to Baileys if the message carries the attribute of the web client alone', async () => {
    const options = { attributes: { peer_recipient_username: '' } };
    const id = await eva.writes('oi', { to: stage.phone.number, options });
    expect((await stage.client.gotId(id)).key.remoteJidUsername).toBeUndefined();
    const [sent] = await stage.network.stanzas({ way: 'out', id });
    expect(sent?.stanza.attrs.username).toBe('eva.named');
  });

  it('is named in the copy of a message that the owner writes on the phone', async () => {
    const { key } = await stage.client.gotId(await stage.phone.writesOnPhone(eva.number, 'from the phone'));
    expect(key).toMatchObject({ remoteJid: eva.lidJid, fromMe: true, remoteJidUsername: 'eva.named' });
  });

  it('answers a message sent to the LID or the phone number', async () => {
    for (const jid of [eva.lidJid, eva.jid]) {
      const { id } = await stage.client.send(jid, { text: 'hello' });
      expect(await eva.receives({ id })).toMatchObject({ text: 'hello', fate: 'shown' });
    }
  });
});

describe('a person with a username and no known phone number', () => {
  it('is named by LID and username in a direct chat, also if the person prefers the phone number', async () => {
    await bia.behaves({ addressing: 'pn' });
    const { key } = await stage.client.gotId(await bia.writes('oi', { to: stage.phone.number }));
    expect(key).toMatchObject({ remoteJid: bia.lidJid, remoteJidUsername: 'bia.hidden' });
    expect(key.remoteJidAlt).toBeUndefined();
    const copy = await stage.client.gotId(
      await stage.phone.writesOnPhone(bia.number, 'on the phone', { addressing: 'pn' }),
    );
    expect(copy.key).toMatchObject({ remoteJid: bia.lidJid, fromMe: true, remoteJidUsername: 'bia.hidden' });
    expect(copy.key.remoteJidAlt).toBeUndefined();
  });

  it('reads, answers and confirms by LID', async () => {
    const { client } = stage;
    const { id } = await client.send(bia.lidJid, { text: 'hello Bia' });
    const received = await bia.receives({ id });
    await bia.reads(received);
    const reply = await client.gotId(await bia.replies(received, 'hello Shop'));
    expect(reply.message?.extendedTextMessage?.contextInfo).toMatchObject({ stanzaId: id });
    await bia.reacts(id, 'ok');
    await bia.shows('composing', stage.phone.number);
  });

  it('is a member of a group by LID and username', async () => {
    const { client, network, phone, ana } = stage;
    const group = await network.group('Team', [bia, phone, ana, eva]);
    const metadata = await client.socket.groupMetadata(group);
    expect(metadata).toMatchObject({ owner: bia.lidJid, ownerUsername: 'bia.hidden', size: 4 });
    expect(metadata.ownerPn).toBeUndefined();
    const member = (person: Person) => metadata.participants.find(({ id }) => id === person.lidJid);
    expect(member(bia)).toMatchObject({ username: 'bia.hidden' });
    expect(member(bia)?.phoneNumber).toBeUndefined();
    expect(member(eva)).toMatchObject({ username: 'eva.named', phoneNumber: eva.jid });
    const { key } = await client.gotId(await bia.writes('hello all', { to: group }));
    expect(key).toMatchObject({ participant: bia.lidJid, participantUsername: 'bia.hidden' });
    expect(key.participantAlt).toBeUndefined();
    const { id } = await client.send(group, { text: 'hello team' });
    for (const person of [bia, ana, eva]) await person.receives({ id, group });
    await network.confirmTogether([bia.number, ana.number], id, true);
  });

  it('is named by LID in notifications of a group', async () => {
    const { client, network, phone, ana } = stage;
    const changes: BaileysEventMap['group-participants.update'][] = [];
    client.socket.ev.on('group-participants.update', (change) => void changes.push(change));
    const group = await network.group('Changing', [phone, ana, bia]);
    await network.changeGroup(group, { add: [eva.number], promote: [bia.number], by: bia.number });
    const added = await until(() => changes.find(({ action }) => action === 'add'), 'the new member');
    expect(added).toMatchObject({ author: bia.lidJid });
    // Baileys drops the username of the author while it makes the event.
    const notices = await network.stanzas({ way: 'out', tag: 'notification', number: phone.number });
    const notice = notices.find(({ stanza }) => stanza.attrs.from === group);
    expect(notice?.stanza.attrs).toMatchObject({ participant_username: 'bia.hidden' });
    expect(added.participants).toMatchObject([{ id: eva.lidJid, username: 'eva.named' }]);
    const promoted = await until(() => changes.find(({ action }) => action === 'promote'), 'the new admin');
    expect(promoted.participants).toMatchObject([{ id: bia.lidJid, username: 'bia.hidden' }]);
  });

  it('is in the history by LID and username', async () => {
    const other = await stage.network.phone('5511900000005', { name: 'Other' });
    const messages = [bia, eva].map(({ number }) => ({
      with: number,
      text: `long ago with ${number.at(-1)}`,
    }));
    await stage.network.call('remember', { number: other.number, messages });
    const client = stage.newClient(undefined, { shouldSyncHistoryMessage: () => true });
    client.onOpen(watch);
    await client.pair(other);
    const { contacts } = await until(
      () => histories.find((history) => history.messages.length > 0),
      'the history',
    );
    const found = (person: Person) => contacts.find(({ id }) => id === person.lidJid);
    expect(found(bia)).toMatchObject({ username: 'bia.hidden', name: 'Bia' });
    expect(found(bia)?.phoneNumber).toBeUndefined();
    expect(found(eva)).toMatchObject({ username: 'eva.named', phoneNumber: eva.jid });
    const { lidMapping } = client.socket.signalRepository;
    expect(await lidMapping.getPNForLID(eva.lidJid)).toContain(NAMED);
    expect(await lidMapping.getPNForLID(bia.lidJid)).toBeNull();
  });

  it('calls by LID', async () => {
    const { client, phone } = stage;
    const calls: BaileysEventMap['call'] = [];
    client.socket.ev.on('call', (some) => void calls.push(...some));
    const id = await bia.callsNumber(phone.number);
    const call = await until(() => calls.find((one) => one.id === id), 'the call');
    expect(call).toMatchObject({ from: bia.lidJid });
    expect(call.callerPn).toBeUndefined();
  });

  it('never shows the phone number to a client', async () => {
    const stanzas = await stage.network.stanzas({ way: 'out' });
    expect(JSON.stringify(stanzas)).not.toContain(HIDDEN);
    expect(JSON.stringify(reported)).not.toContain(HIDDEN);
    expect(JSON.stringify(reported)).toContain(NAMED);
    expect(await pnOf(bia)).toBeNull();
  });
});

describe('a real client of a person with a hidden phone number', () => {
  it('is named by LID and username to other clients, and names the chat to its own', async () => {
    const { client, newClient, phone } = stage;
    const [first, second] = [await newClient().pair(bia), await newClient().pair(bia)];
    const { id } = await first.send(phone.lidJid, { text: 'from a client' });
    const { key } = await client.gotId(id);
    expect(key).toMatchObject({ remoteJid: bia.lidJid, remoteJidUsername: 'bia.hidden' });
    expect(key.remoteJidAlt).toBeUndefined();
    expect((await second.gotId(id)).key).toMatchObject({
      ...{ remoteJid: phone.lidJid, remoteJidAlt: phone.jid, fromMe: true },
    });
    await bia.unlinks();
  });
});

describe('a name that changes', () => {
  it('notifies the clients of people who know the person, and names the next message', async () => {
    const { client, network, phone } = stage;
    const { key } = await client.gotId(await bia.writes('before', { to: phone.number }));
    expect(key.remoteJidUsername).toBe('bia.hidden');
    const before = (await network.stanzas({ way: 'out' })).at(-1)!.seq;
    await bia.renames('bia.other');
    const isMex = ({ stanza }: { stanza: { attrs: Record<string, string> } }) => stanza.attrs.type === 'mex';
    const told = await network.stanzas({ way: 'out', number: phone.number, after: before });
    expect(told.filter(isMex)).toHaveLength(1);
    expect((await client.gotId(await bia.writes('after', { to: phone.number }))).key).toMatchObject({
      ...{ remoteJid: bia.lidJid, remoteJidUsername: 'bia.other' },
    });
    await bia.renames(null);
    const unnamed = await client.gotId(await bia.writes('no name', { to: phone.number }));
    expect(unnamed.key.remoteJidUsername).toBeUndefined();
  });
});

describe('a phone number that becomes known', () => {
  it('comes with the next message, and the client joins both ids', async () => {
    const { client, phone } = stage;
    await bia.renames('bia.known');
    await bia.showsPhone();
    const { key } = await client.gotId(
      await bia.writes('call me', { to: phone.number, options: { addressing: 'lid' } }),
    );
    expect(key).toMatchObject({
      remoteJid: bia.lidJid,
      remoteJidAlt: bia.jid,
      remoteJidUsername: 'bia.known',
    });
    expect(await pnOf(bia)).toContain(HIDDEN);
    const { id } = await client.send(bia.jid, { text: 'I know you' });
    expect(await bia.receives({ id })).toMatchObject({ fate: 'shown' });
    expect((await stage.network.status()).violations).toEqual([]);
  });
});
