import { Curve, WA_CERT_DETAILS } from '@whiskeysockets/baileys';
import { setStage, type Stage } from './testing/stage.js';
import type { StockClient } from './testing/stock-client.js';

let stage: Stage;
let client: StockClient;

beforeAll(async () => {
  stage = await setStage();
});
beforeEach(async () => {
  client = await stage.recover();
});
afterAll(() => stage.close());

describe('strict checks', () => {
  it('a client rejects a network with another root', async () => {
    const stranger = stage.newClient();
    WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(Curve.generateKeyPair().public);
    stranger.open();
    expect(await stranger.closed()).toMatchObject({ code: 400 });
  });

  it('gives out each pre-key once and notifies the client when few are left', async () => {
    const { network, phone, running } = stage;
    const companion = running.network.world.people.need(phone.number).companions.get(1);
    companion?.preKeys.splice(9);
    const bia = await network.contact('5511900000003');
    const preKey = companion?.preKeys[0]?.id;
    await bia.writes('hello', { to: phone.number });
    await client.got('hello');
    expect(companion?.preKeys.map(({ id }) => id)).not.toContain(preKey);
    await network.waitStanza({ way: 'out', tag: 'notification' });
    await phone.hasTakenAll();
  });

  it('the phone links no fifth device', async () => {
    const { running, phone } = stage;
    const { companions } = running.network.world.people.need(phone.number);
    const [one] = companions.values();
    if (one) for (const id of [2, 3, 4]) companions.set(id, { ...one, id });
    const fifth = stage.newClient().open();
    await expect(phone.scan(await fifth.qr())).rejects.toThrow('4 linked devices');
  });
});
