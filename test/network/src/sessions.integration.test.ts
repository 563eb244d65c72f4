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

const reopened = () => stage.newClient(stage.client.auth).open();

describe('a connection ends', () => {
  it('with 440 for the older of two with the same credentials, which the network then ignores', async () => {
    const { network, phone } = stage;
    const second = await reopened().connected();
    expect(await client.closed()).toMatchObject({ code: 440 });
    expect(second.state).toBe('open');
    const { id } = await second.send(stage.ana.jid, { text: 'from the second' });
    await stage.ana.receives({ id });
    const [account] = await network.call('accounts', undefined);
    expect(account).toMatchObject({ number: phone.number, companions: [{ id: 1, connected: true }] });
  });

  it.each([503, 515, 500])('with %d from the network, and the client can reconnect', async (code) => {
    const { network, phone } = stage;
    await network.streamError(phone.number, code);
    expect(await client.closed()).toMatchObject({ code });
    await reopened().connected();
  });

  it('without a close when it is cut, and the client can reconnect', async () => {
    const { network, phone } = stage;
    await network.cut(phone.number);
    expect(await client.closed()).toMatchObject({ code: 428 });
    expect((await network.status()).loggedIn).toBe(0);
    await reopened().connected();
    expect((await network.status()).loggedIn).toBe(1);
  });

  it('and cannot be opened during an outage', async () => {
    const { network } = stage;
    await network.outage(true, { cut: true });
    await client.closed();
    expect((await reopened().closed()).code).not.toBe(401);
    await network.outage(false);
    await reopened().connected();
  });
});

describe('a device that has logged in', () => {
  it('excludes one that has only opened a connection', async () => {
    const { network, running } = stage;
    const { connections, loggedIn } = await network.status();
    const socket = new WebSocket(running.url);
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    expect(await network.status()).toMatchObject({ connections: connections + 1, loggedIn });
    socket.close();
  });
});

describe('a device that is no longer linked gets 401', () => {
  it('because the owner removed it, and cannot reconnect', async () => {
    const { phone } = stage;
    const other = await stage.newClient().pair(phone);
    await phone.unlinks(Number(other.socket.user?.id.split(/[:@]/)[1]));
    expect(await other.closed()).toMatchObject({ code: 401 });
    expect(await stage.newClient(other.auth).open().closed()).toMatchObject({ code: 401 });
    expect(client.state).toBe('open');
  });

  it('because it unlinked itself', async () => {
    const { phone, network } = stage;
    const other = await stage.newClient().pair(phone);
    await other.socket.logout();
    await network.call('waitDevices', { number: phone.number, count: 1 });
    expect(await stage.newClient(other.auth).open().closed()).toMatchObject({ code: 401 });
  });
});

describe('a ban', () => {
  it('for an hour disconnects and reports its end at each login', async () => {
    const { network, phone } = stage;
    await network.ban(phone.number, { minutes: 60 });
    const { code, data } = await client.closed();
    expect(code).toBe(402);
    expect(data).toMatchObject({ reason: '402', code: '101' });
    expect(Number((data as { expire: string }).expire)).toBeGreaterThan(3500);
    expect(await reopened().closed()).toMatchObject({ code: 402 });
    await network.lift(phone.number);
    await reopened().connected();
  });

  it('that has ended allows logins again', async () => {
    const { network, phone, running } = stage;
    await network.ban(phone.number, { minutes: 60 });
    await client.closed();
    running.network.world.faults.refusal(phone.number)!.until = Date.now();
    await reopened().connected();
  });

  it('follows too many logins if a limit is set', async () => {
    const { network, phone } = stage;
    await network.limitLogins({ times: 2, seconds: 60, minutes: 60 });
    const first = await reopened().connected();
    const second = await reopened().connected();
    expect(await first.closed()).toMatchObject({ code: 440 });
    const third = await reopened().closed();
    expect(third).toMatchObject({ code: 402 });
    expect(Number((third.data as { expire: string }).expire)).toBeGreaterThan(3500);
    expect(await second.closed()).toMatchObject({ code: 402 });
    // The client that was connected before, and the first of these.
    expect((await network.status()).logins).toEqual({ most: 3, replaced: 2, banned: 1 });
    await network.lift(phone.number);
  });

  it.each([403, 406, 405])('with reason %d also disconnects', async (reason) => {
    const { network, phone } = stage;
    await network.ban(phone.number, { reason });
    expect(await client.closed()).toMatchObject({ code: reason });
    expect(await reopened().closed()).toMatchObject({ code: reason });
  });

  it('of an old version uses 405', async () => {
    const { network } = stage;
    await network.call('oldestVersion', { version: [2, 9999, 0] });
    await client.stop();
    expect(await reopened().closed()).toMatchObject({ code: 405 });
  });
});
