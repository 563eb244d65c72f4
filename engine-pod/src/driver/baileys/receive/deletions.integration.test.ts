import { numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

/** Deletions of messages of others in a group. The first member of a simulated group is its admin. */
let stage: NumberStage;
let bia: NumberStage['ana'];
let group: string;
beforeAll(async () => {
  stage = await numberStage();
  bia = await stage.network.contact('5511900000005', { name: 'Bia' });
  group = await stage.network.group('Friends', [bia, stage.ana, stage.phone]);
});
afterAll(() => stage.close());

const deletion = (id: string, key: object) => ({
  protocolMessage: { type: 'REVOKE', key: { remoteJid: group, id, ...key } },
});

test.each<[string, () => NumberStage['ana'], () => object, true | undefined]>([
  ['an admin', () => bia, () => ({ fromMe: false, participant: stage.ana.lidJid }), true],
  ['an admin, of a message known by phone number', () => bia, () => ({ participant: stage.ana.jid }), true],
  ['a member', () => stage.ana, () => ({ fromMe: false, participant: bia.lidJid }), undefined],
  ['the author', () => stage.ana, () => ({ fromMe: true }), undefined],
  ['the author, who is an admin', () => bia, () => ({ fromMe: true, participant: bia.jid }), undefined],
])('a deletion by %s says whether an admin deletes', async (_, who, key, by_admin) => {
  const id = await who().writes(deletion('3EB0OLD', key()), { to: group });
  expect((await stage.number.gets(id)).change).toEqual({
    kind: 'delete',
    wa_message_id: '3EB0OLD',
    by_admin,
    author: expect.objectContaining({ from_me: false }) as object,
  });
});

test('knows an admin who deletes many messages', async () => {
  const key = { participant: stage.ana.lidJid };
  for (let sent = 1; sent <= 21; sent++) await bia.writes(deletion('3EB0OLD', key), { to: group });
  const last = await bia.writes(deletion('3EB0OLD', key), { to: group });
  expect((await stage.number.gets(last)).change).toMatchObject({ by_admin: true });
});

test('asks again while the network does not answer', async () => {
  const { network, number, ana } = stage;
  await network.rule({ on: 'w:g2/get/query', times: 2, answer: 500 });
  const id = await bia.writes(deletion('3EB0OLD', { participant: ana.lidJid }), { to: group });
  expect((await number.gets(id)).change).toMatchObject({ by_admin: true });
});
