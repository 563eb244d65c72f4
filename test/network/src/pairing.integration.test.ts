import { startNetwork, type RunningNetwork } from './start.js';
import { StockClient } from './testing/stock-client.js';

let running: RunningNetwork;
const clients: StockClient[] = [];

beforeEach(async () => {
  running = await startNetwork();
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.stop();
  await running.close();
});

function newClient(): StockClient {
  const client = new StockClient(running);
  clients.push(client);
  return client;
}

describe('a stock client pairs', () => {
  it('by QR code, restarts, logs in and uploads its keys', async () => {
    const phone = await running.client.phone('5511900000001', { name: 'Gateway' });
    const client = newClient().open();
    await phone.scan(await client.qr());
    await client.connected();
    expect(client.socket.user?.id).toBe('5511900000001:1@s.whatsapp.net');
    expect(client.socket.user?.lid).toBe(`${phone.lid}:1@lid`);
    const [account] = await running.client.call('accounts', undefined);
    expect(account?.companions).toMatchObject([{ id: 1, connected: true, active: true }]);
    expect(account?.companions[0]?.preKeys).toBeGreaterThanOrEqual(800);
    const { unhandled, violations } = await running.client.status();
    expect(violations).toEqual([]);
    expect(unhandled).toEqual([]);
  });

  it('by a code typed on the phone', async () => {
    const phone = await running.client.phone('5511900000001');
    const client = newClient().open();
    await client.qr();
    const code = await client.socket.requestPairingCode(phone.number);
    expect(code).toHaveLength(8);
    await phone.types(code);
    await client.connected();
    expect(client.socket.user?.id).toBe('5511900000001:1@s.whatsapp.net');
  });
});

describe('a phone refuses', () => {
  it('a client without a passkey, and requests one', async () => {
    const phone = await running.client.phone('5511900000001');
    await phone.behaves({ needsPasskey: true });
    const client = newClient().open();
    const asked = new Promise<{ attrs: Record<string, string> }>((resolve) => {
      client.socket.ws.on('CB:notification,type:passkey_prologue_request', resolve);
    });
    await expect(phone.scan(await client.qr())).rejects.toThrow('without a passkey');
    expect((await asked).attrs).toMatchObject({ type: 'passkey_prologue_request' });
    expect(client.auth.creds.account).toBeUndefined();
  });

  it('a wrong code, and a QR code that no client shows', async () => {
    const phone = await running.client.phone('5511900000001');
    const client = newClient().open();
    const [, ...keys] = (await client.qr()).split(',');
    await expect(phone.scan(['2@nobody', ...keys].join(','))).rejects.toThrow('not shown by any client');
    await client.socket.requestPairingCode(phone.number);
    await expect(phone.types('AAAA-AAAA')).rejects.toThrow('the code is wrong');
  });
});

describe('a text', () => {
  it('is sent both ways, encrypted, with receipts', async () => {
    const phone = await running.client.phone('5511900000001', { name: 'Gateway' });
    const ana = await running.client.contact('5511900000002', { name: 'Ana' });
    const client = await newClient().pair(phone);

    const sent = await client.send(ana.jid, { text: 'hello Ana' });
    const received = await ana.receives('hello Ana');
    expect(received).toMatchObject({ id: sent.id, from: phone.number, fate: 'shown', encryption: 'pkmsg' });
    expect(await client.acked(sent.id)).not.toHaveProperty('error');
    await ana.reads(received);

    const id = await ana.writes('oi');
    const got = await client.got('oi');
    expect(got).toMatchObject({ key: { id, remoteJid: ana.lidJid, remoteJidAlt: ana.jid }, pushName: 'Ana' });
    await phone.hasTakenAll();

    await client.send(ana.lidJid, { text: 'to the lid' });
    expect(await ana.receives('to the lid')).toMatchObject({ fate: 'shown', addressed: ana.lidJid });
    expect((await running.client.status()).violations).toEqual([]);
  });
});
