import type { StanzaView } from '@gwk/network/control/views';
import { numberStage, seenMeanwhile, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

/** Notes to oneself: the chat of an account with its own number. */
let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
});
afterAll(() => stage.close());

test('the own LID is reported with the connection', async () => {
  const { phone, number } = stage;
  expect(await number.happens('opened')).toMatchObject({ jid: phone.jid, lid: phone.lidJid });
});

test.each(['pn', 'lid'] as const)(
  'a note written on the phone by %s is in the chat of the own LID',
  async (addressing) => {
    const { phone, number, network } = stage;
    const message = { conversation: `by ${addressing}` };
    const { id } = await network.call('writeFromPhone', {
      ...{ from: phone.number, to: phone.number, message, options: { addressing } },
    });
    expect(await number.gets(id)).toMatchObject({
      ...{ chat: phone.lidJid, alt: phone.jid, from: phone.jid, from_me: true, text: `by ${addressing}` },
    });
  },
);

test.each([
  ['LID', () => stage.phone.lidJid],
  ['phone number', () => stage.phone.jid],
])('a note to the own %s arrives on the phone, and the API learns both ids', async (_name, own) => {
  const { phone, number, network } = stage;
  // The second one finds the devices in the cache.
  await number.sendText(own(), 'first note');
  const { id } = await number.sendText(own(), 'note');
  const { stanza } = await network.waitStanza({ way: 'in', tag: 'message', id });
  const participants = (stanza.content as StanzaView[]).find(({ tag }) => tag === 'participants')!;
  expect(participants.content).toHaveLength(1);
  expect(await phone.receives({ id, copies: true, limitMs: 20_000 })).toMatchObject({ copyOf: own() });
  expect(number.rows.names).toContainEqual({ phone: phone.number, lid: phone.lidJid });
});

test('receipts of what the phone wrote go to the own id of that chat', async () => {
  const { phone, number, network, ana } = stage;
  for (const [addressing, own] of [
    ['lid', phone.lidJid],
    ['pn', phone.jid],
  ] as const) {
    const message = { conversation: 'to Ana' };
    const { id } = await network.call('writeFromPhone', {
      ...{ from: phone.number, to: ana.number, message, options: { addressing } },
    });
    await number.gets(id);
    const { stanza } = await network.waitStanza({ way: 'in', tag: 'receipt', id });
    expect(stanza.attrs).toMatchObject({ to: own, type: 'sender' });
  }
  await seenMeanwhile(stage, () => undefined);
  expect((await network.status()).violations).toEqual([]);
});
