import type { Person } from './control/client.js';
import { setStage, type Stage } from './testing/stage.js';
import { until } from './testing/stock-client.js';

let stage: Stage;
let bia: Person;
let group: string;

beforeAll(async () => {
  stage = await setStage();
  bia = await stage.network.contact('5511900000003', { name: 'Bia', devices: 2 });
  group = await stage.network.group('Team', [stage.phone, stage.ana, bia]);
});
afterAll(() => stage.close());

describe('a group', () => {
  it('is known to its members, with LIDs and phone numbers', async () => {
    const { client, ana } = stage;
    const metadata = await client.socket.groupMetadata(group);
    expect(metadata).toMatchObject({ subject: 'Team', addressingMode: 'lid', size: 3 });
    expect(metadata.participants).toContainEqual(
      expect.objectContaining({ id: ana.lidJid, phoneNumber: ana.jid }),
    );
    expect(Object.keys(await client.socket.groupFetchAllParticipating())).toEqual([group]);
  });

  it('receives messages with a sender key, which every device of every member gets once', async () => {
    const { client, network, ana } = stage;
    const first = await client.send(group, { text: 'hello all' });
    for (const person of [ana, bia]) {
      expect(await person.receives({ id: first.id, group })).toMatchObject({
        encryption: 'skmsg',
        text: 'hello all',
      });
    }
    await network.waitReceived({ id: first.id, to: bia.number, device: 1, fate: 'shown' });
    const second = await client.send(group, { text: 'hello again' });
    await ana.receives({ id: second.id });
    const [stanza] = await network.stanzas({ way: 'in', tag: 'message', id: second.id });
    expect((stanza!.stanza.content as { tag: string }[]).map(({ tag }) => tag)).not.toContain('participants');
  });

  it('shows messages of a member, whose key comes with the first message', async () => {
    const { client, ana } = stage;
    for (const text of ['from Ana', 'from Ana again']) {
      const got = await client.gotId(await ana.writes(text, { to: group }));
      expect(got.key).toMatchObject({ remoteJid: group, participant: ana.lidJid });
      expect(client.text(got)).toBe(text);
    }
  });

  it('recovers a missing sender key by a retry request, both ways', async () => {
    const { client, network } = stage;
    const carla = await network.contact('5511900000004', { name: 'Carla' });
    await network.changeGroup(group, { add: [carla.number] });
    for (const row of client.auth.rows.keys())
      if (row.startsWith('sender-key ')) client.auth.rows.delete(row);
    const got = await client.gotId(await stage.ana.writes('who am I?', { to: group }));
    expect(client.text(got)).toBe('who am I?');
    const { id } = await client.send(group, { text: 'and now' });
    for (const person of [stage.ana, bia, carla]) await person.receives({ id });
  });

  it('notifies its members of changes, and sends nothing to removed members', async () => {
    const { client, network, ana } = stage;
    const changes: { action: string; participants: { id: string }[] }[] = [];
    client.socket.ev.on('group-participants.update', (change) => void changes.push(change));
    await network.changeGroup(group, { remove: [bia.number], subject: 'Smaller' });
    const change = await until(() => changes.find(({ action }) => action === 'remove'), 'the change');
    expect(change.participants).toEqual([expect.objectContaining({ id: bia.lidJid })]);
    expect(await client.socket.groupMetadata(group)).toMatchObject({ subject: 'Smaller' });
    const { id } = await client.send(group, { text: 'without Bia' });
    await ana.receives({ id });
    expect(await network.received({ id, to: bia.number })).toEqual([]);
  });

  it('refuses people who are not members', async () => {
    const { client, network, ana } = stage;
    const other = await network.group('Others', [ana, bia]);
    await expect(client.socket.groupMetadata(other)).rejects.toThrow();
    expect((await network.status()).violations).toEqual([]);
  });
});
