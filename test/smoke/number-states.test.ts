import type { PairingOut } from '@gwk/core/resources/pairing';
import { openNumber, type NumberStage } from './number-stage.js';
import { openStream } from '../support/sse.js';
import { until } from '../support/wait.js';

/** States of a paired instance through real processes. */
let stage: NumberStage;
beforeAll(async () => {
  stage = await openNumber('states');
});

const at = (rest: string): string => `/v1/instances/${stage.id}/${rest}`;
const post = (rest: string) => stage.customer.client.call<PairingOut>('POST', at(rest));
const pairing = () => stage.customer.client.expect<PairingOut>(200, 'GET', at('pairing'));
const last = async (type: string) => (await stage.eventsOf(type))[0]?.data;
const count = async (type: string) => (await stage.eventsOf(type)).length;

test('a new instance is pending_pair', async () => {
  expect(await stage.customer.client.instance(stage.id)).toMatchObject({ state: 'pending_pair', jid: null });
});

test('a pairing that the phone ends with a passkey reports the reason, and leaves neither a state nor a device', async () => {
  const { phone, customer, gateway, network } = stage;
  const stream = openStream(`${gateway.urls[0]!}${at('pairing/stream')}`, customer.key.api_key);
  const { body } = await post('pairing');
  expect(body.state).toBe('pairing');
  await phone.behaves({ needsPasskey: true });
  await expect(phone.scan(body.qr!.code)).rejects.toThrow('passkey');
  await until(() => stream.state.ended, { what: 'the stream ends' });
  expect(stream.events.at(-1)).toMatchObject({
    event: 'error',
    data: { detail: expect.stringContaining('passkey_required') as string },
  });
  await phone.behaves({ needsPasskey: false });
  expect((await pairing()).state).toBe('pending_pair');
  expect(await network.call('account', { number: phone.number })).toMatchObject({ companions: [] });
});

test('a pairing emits paired, then connected', async () => {
  const { phone, customer, id } = stage;
  await stage.pair();
  expect(await last('instance.paired')).toMatchObject({
    jid: phone.jid,
    business_name: null,
    platform: 'android',
  });
  expect(await last('instance.connected')).toMatchObject({ jid: phone.jid });
  expect(await customer.client.instance(id)).toMatchObject({
    ...{ state: 'connected', jid: phone.jid, lid: phone.lidJid },
  });
  expect((await post('pairing')).status).toBe(409);
});

test.each<[string, () => Promise<unknown>, string]>([
  ['a cut connection', () => stage.network.cut(stage.phone.number), 'connection_closed'],
  ['a stream error 503', () => stage.network.streamError(stage.phone.number, 503), 'unavailable'],
])('%s: reports disconnected with its reason, and reconnects', async (_, cause, reason) => {
  const before = await count('instance.connected');
  await cause();
  await until(async () => (await count('instance.connected')) > before, {
    what: 'the instance is connected again',
  });
  await stage.stateIs('connected');
  expect(await last('instance.disconnected')).toMatchObject({ reason });
});

test('restart answers 202, and the instance reconnects', async () => {
  const before = await count('instance.connected');
  expect((await post('restart')).status).toBe(202);
  await until(async () => (await count('instance.connected')) > before, {
    what: 'the instance is connected again',
  });
});

test('an unlinked instance is logged_out with its reason, until it is paired again', async () => {
  const { phone } = stage;
  await phone.unlinks();
  await stage.stateIs('logged_out');
  expect(await last('instance.logged_out')).toMatchObject({ reason: 'device_removed' });
  await stage.network.phone(phone.number, { business: 'The Shop' });
  await stage.pair();
  expect(await count('instance.paired')).toBe(2);
  expect(await last('instance.paired')).toMatchObject({ business_name: 'The Shop', platform: 'smba' });
  expect(await stage.customer.client.instance(stage.id)).toMatchObject({ business_name: 'The Shop' });
});

test('logout answers 204, the instance is pending_pair, and the phone has no linked device', async () => {
  const { network, phone } = stage;
  expect((await post('logout')).status).toBe(204);
  await stage.stateIs('pending_pair');
  expect(await network.call('account', { number: phone.number })).toMatchObject({ companions: [] });
});

test('a permanent ban has no end, and sends fail at once', async () => {
  const { network, phone, ana, customer, id } = stage;
  await stage.pair();
  await network.ban(phone.number);
  await stage.stateIs('banned');
  expect(await last('instance.banned')).toMatchObject({ code: '406', expires_at: null });
  const { id: message } = await customer.client.acceptedText(id, ana.number, 'in vain');
  await until(async () => (await customer.client.message(message)).error?.code === 'not_connected', {
    what: 'the message fails',
  });
  expect((await post('pairing')).status).toBe(409);
});

test('DELETE answers 204, later GET answers 404', async () => {
  const { customer, id } = stage;
  expect((await customer.client.call('DELETE', `/v1/instances/${id}`)).status).toBe(204);
  expect((await customer.client.call('GET', `/v1/instances/${id}`)).status).toBe(404);
});

test('the network saw no protocol violation', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
