import { numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
let group: string;
beforeAll(async () => {
  stage = await numberStage();
  group = await stage.network.group('Friends', [stage.phone, stage.ana]);
});
afterAll(() => stage.close());

describe.each(['pn', 'lid'] as const)('by a notice with the %s,', (by) => {
  test.each([
    ['of a contact', () => stage.ana.jid],
    ['of a contact known by LID', () => stage.ana.lidJid],
    ['of a group', () => group],
  ])('a device that a contact links later gets the next message in the chat %s', async (_, chat) => {
    const { number, network, ana } = stage;
    // Now the engine knows the devices of the contact.
    const { id: before } = await number.sendText(chat(), 'before');
    const device = await ana.linksDevice(by);
    await network.call('waitTaken', { number: stage.phone.number });
    const { id } = await number.sendText(chat(), 'after');
    expect(await ana.receives({ id, device, limitMs: 5_000 })).toMatchObject({ fate: 'shown' });
    expect(await ana.inbox({ id: before, device })).toEqual([]);
  });
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
