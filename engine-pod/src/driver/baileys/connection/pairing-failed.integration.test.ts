import { createServer, type AddressInfo } from 'node:net';
import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import type { Person } from '@gwk/network/control/client';
import type { Manners } from '@gwk/network/people/account';
import { SimulatedInstance, QR } from '@gwk/test/support/engine/simulated-instance';
import { until } from '@gwk/test/support/wait';

/** Failed pairings: each reports a reason and stores nothing that a later engine would log in with. */
let running: RunningNetwork;
/** A network that gives each client one code instead of six. */
let impatient: RunningNetwork;
beforeAll(async () => {
  running = await startNetwork();
  const { certificates } = running.network.world;
  impatient = await startNetwork({ refs: 1, certificates });
});
afterAll(async () => {
  await running.close();
  await impatient.close();
});

let last = 5511900000100;
const newNumber = (): string => String(++last);

async function beginning(network: RunningNetwork, method: 'qr' | 'code') {
  const phone = await network.client.phone(newNumber(), { name: 'Shop' });
  const number = new SimulatedInstance(network);
  number.connect({ session: QR.session, method, phone: method === 'code' ? phone.number : null });
  const { code } = await number.happens(method === 'qr' ? 'qr' : 'pairing-code');
  return { phone, number, code };
}

const links = (phone: Person, method: 'qr' | 'code', code: string) =>
  method === 'qr' ? phone.scan(code) : phone.types(code);

describe.each(['qr', 'code'] as const)('by %s, a phone of another account', (method) => {
  const only = { jid: '5511900000099@s.whatsapp.net', lid: '900000000099@lid' };
  const scan = async (mayLink: (phone: Person) => typeof only | null) => {
    const phone = await running.client.phone(newNumber(), { name: 'Shop' });
    const number = new SimulatedInstance(running);
    const typed = method === 'code' ? phone.number : null;
    number.connect({ session: QR.session, method, phone: typed, account: mayLink(phone) });
    const { code } = await number.happens(method === 'qr' ? 'qr' : 'pairing-code');
    return { phone, number, linked: links(phone, method, code) };
  };

  test('is refused before it has the device, and leaves nothing', async () => {
    const { phone, number, linked } = await scan(() => only);
    await expect(linked).rejects.toThrow('the client did not sign');
    const disconnect = { kind: 'pairing-failed', reason: 'other_account' };
    expect((await number.happens('closed')).disconnect).toEqual(disconnect);
    expect(running.network.world.people.need(phone.number).companions.size).toBe(0);
    await leavesNothing(number);
  });

  test.each<[string, (phone: Person) => typeof only | null]>([
    ['any account may link', () => null],
    ['it has the same phone number', ({ jid }) => ({ ...only, jid })],
    ['it has the same LID', ({ lidJid: lid }) => ({ ...only, lid })],
  ])('is linked if %s', async (_, mayLink) => {
    const { phone, number, linked } = await scan(mayLink);
    await linked;
    const { device } = await number.happens('paired');
    expect(device).toMatchObject({ jid: phone.jid, lid: phone.lidJid });
    await number.driver.close();
  });
});

async function leavesNothing(number: SimulatedInstance): Promise<void> {
  expect(number.events.map(({ kind }) => kind)).not.toContain('paired');
  expect(number.rows.of('creds')).toEqual([]);
  await number.driver.close();
  number.events.length = 0;
  number.connect();
  expect((await number.happens('closed')).disconnect).toEqual({ kind: 'logged-out', reason: 'no_session' });
  await number.driver.close();
}

describe.each(['qr', 'code'] as const)('by %s', (method) => {
  test.each<[string, Partial<Manners>, string]>([
    ['the phone wants a passkey', { needsPasskey: true }, 'passkey_required'],
    ['the network refuses', { linksRefused: 401 }, 'refused_by_the_network'],
    ['the way of linking is no more', { linksRefused: 411 }, 'refused_by_the_network'],
  ])('%s', async (_, manners, reason) => {
    const { phone, number, code } = await beginning(running, method);
    await phone.behaves(manners);
    await expect(links(phone, method, code)).rejects.toThrow();
    expect((await number.happens('closed')).disconnect).toEqual({ kind: 'pairing-failed', reason });
    await leavesNothing(number);
  });

  test('a banned number', async () => {
    const { phone, number, code } = await beginning(running, method);
    await phone.behaves({ linksRefused: 406 });
    await expect(links(phone, method, code)).rejects.toThrow();
    expect((await number.happens('closed')).disconnect).toMatchObject({ kind: 'banned', code: '406' });
    await leavesNothing(number);
  });

  test('a dropped connection is not a refusal', async () => {
    const { number } = await beginning(running, method);
    for (const connection of running.network.world.connections) connection.cut();
    expect((await number.happens('closed')).disconnect).toEqual({
      kind: 'dropped',
      reason: 'connection_closed',
    });
    await leavesNothing(number);
  });
});

// Only the phone shows the reason. To the client, its codes seem unscanned.
test.each(['qr', 'code'] as const)(
  'by %s: fails after the codes expire when the phone has no free slot',
  async (method) => {
    const { phone, number, code } = await beginning(impatient, method);
    await phone.behaves({ slots: 0 });
    await expect(links(phone, method, code)).rejects.toThrow('has 0 linked devices');
    expect(number.events.map(({ kind }) => kind)).not.toContain('closed');
    number.clock.advance(20_000);
    const how = { kind: 'pairing-failed', reason: 'codes_unread' };
    expect((await number.happens('closed')).disconnect).toEqual(how);
    await leavesNothing(number);
  },
);

test.each([
  [429, 'too_many_codes'],
  [400, 'code_refused'],
] as const)('shows no code if the network refuses it with %s', async (codesRefused, reason) => {
  const phone = await running.client.phone(newNumber(), { name: 'Shop' });
  await phone.behaves({ codesRefused });
  const number = new SimulatedInstance(running);
  number.connect({ session: QR.session, method: 'code', phone: phone.number });
  expect((await number.happens('closed')).disconnect).toEqual({ kind: 'pairing-failed', reason });
  expect(number.events.map(({ kind }) => kind)).not.toContain('pairing-code');
  await leavesNothing(number);
});

test('a wrongly typed code links nothing', async () => {
  const { phone, number } = await beginning(running, 'code');
  await expect(phone.types('AAAAAAAA')).rejects.toThrow('the code is wrong');
  await leavesNothing(number);
});

test('a network that does not answer', async () => {
  await running.client.outage(true);
  const number = new SimulatedInstance(running);
  number.connect(QR);
  expect((await number.happens('closed')).disconnect).toMatchObject({ kind: 'dropped' });
  await running.client.outage(false);
  await leavesNothing(number);
});

test('a network that accepts the connection and sends nothing', async () => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const url = `ws://127.0.0.1:${(silent.address() as AddressInfo).port}/ws/chat`;
  const number = new SimulatedInstance({ ...running, url });
  number.connect(QR);
  await until(() => number.clock.count(20_000) > 0, { what: 'the connection waits for a frame' });
  number.clock.advance(19_999);
  expect(number.events).toEqual([]);
  number.clock.advance(1);
  const { disconnect } = await number.happens('closed');
  expect(disconnect).toEqual({ kind: 'dropped', reason: 'timed_out' });
  await number.driver.close();
  expect(number.rows.of('creds')).toEqual([]);
  silent.close();
});
