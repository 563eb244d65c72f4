import { proto, type BaileysEventMap } from '@whiskeysockets/baileys';
import { startNetwork, type RunningNetwork } from './start.js';
import { StockClient, until } from './testing/stock-client.js';

let running: RunningNetwork;
let client: StockClient;
const { RECENT } = proto.HistorySync.HistorySyncType;
const histories: BaileysEventMap['messaging-history.set'][] = [];

beforeAll(async () => {
  running = await startNetwork();
});
afterAll(async () => {
  await client.stop();
  await running.close();
});

describe('the history of the phone', () => {
  it('is sent to a client when it is linked, with LIDs for phone numbers', async () => {
    const phone = await running.client.phone('5511900000001', { name: 'Shop', business: 'The Shop' });
    const ana = await running.client.contact('5511900000002', { name: 'Ana' });
    const messages = [
      { with: ana.number, text: 'long ago' },
      { with: ana.number, text: 'answered', own: true },
    ];
    await running.client.call('remember', { number: phone.number, messages });
    client = new StockClient(running, undefined, { shouldSyncHistoryMessage: () => true });
    client.onOpen((socket) =>
      socket.ev.on('messaging-history.set', (history) => void histories.push(history)),
    );
    await client.pair(phone);
    const history = await until(() => histories.find(({ messages }) => messages.length > 0), 'the history');
    expect(history.messages.map((message) => client.text(message)).sort()).toEqual(['answered', 'long ago']);
    expect(client.socket.user?.name).toBe('The Shop');
    const mapped = await client.socket.signalRepository.lidMapping.getPNForLID(ana.lidJid);
    expect(mapped).toContain(ana.number);
  });

  it('is sent again when it has grown', async () => {
    const before = histories.length;
    await running.client.call('sendHistory', { number: '5511900000001' });
    const isRecent = ({ syncType }: (typeof histories)[number]) => syncType === RECENT;
    const more = await until(() => histories.slice(before).find(isRecent), 'the rest');
    expect(more.progress).toBe(100);
  });
});
