import type { ContactCheckOut } from '@gwk/core/resources/live';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { PairingOut } from '@gwk/core/resources/pairing';
import type { PhoneEvent } from '@gwk/engine-pod/driver/sandbox/network';
import { openSharedStage, type SharedStage } from './shared-stage.js';
import { openStream } from '../support/sse.js';
import { until } from '../support/wait.js';

/** The life cycle of an instance through real processes: a sandbox, whose phone and network the tests play. */
let stage: SharedStage;
let id: string;

beforeAll(async () => {
  stage = await openSharedStage('pairing');
  id = stage.instance.id;
  // The codes stay valid for the whole test.
  await stage.network.setPairingTerms(id, { codes: 6, codeMs: 600_000 });
});

const at = (rest: string): string => `/v1/instances/${id}/${rest}`;
const post = <T = InstanceOut>(rest: string, body?: unknown) =>
  stage.customer.client.call<T>('POST', at(rest), { ...(body !== undefined && { body }) });
const pair = () => post<PairingOut>('pairing');
const look = async () => (await stage.customer.client.call<PairingOut>('GET', at('pairing'))).body;
const phone = (event: PhoneEvent) => stage.network.phone(id, event);
const stateIs = (state: string) =>
  until(async () => (await stage.customer.client.instance(id)).state === state, {
    what: `the instance is ${state}`,
  });
const eventsOf = (type: string) => stage.customer.client.events({ instance_id: id, type });
const signals = async () => (await stage.network.signalsOf(id)).map(({ kind }) => kind);

/** Pairs and connects the instance, unless it is connected. */
async function ensurePaired(): Promise<void> {
  if ((await stage.customer.client.instance(id)).state === 'connected') return;
  expect((await pair()).status).toBe(200);
  await phone({ kind: 'scan' });
  await stateIs('connected');
}

test('a sandbox after logout is pending_pair until POST pairing, then shows a QR code, connects and sends again', async () => {
  const stream = () =>
    openStream(`${stage.gateway.urls[1]!}${at('pairing/stream')}`, stage.customer.key.api_key);
  const connected = stream();
  await until(() => connected.state.ended, { what: 'the stream of a connected instance ends' });
  expect(connected.events.map(({ event }) => event)).toEqual(['connected']);

  expect((await post('logout')).status).toBe(204);
  await stateIs('pending_pair');
  await until(async () => (await signals()).includes('unlink'), { what: 'the device is unlinked' });
  expect((await look()).state).toBe('pending_pair');

  const watched = stream();
  const { status, body } = await pair();
  expect([status, body.state, body.pairing_code]).toEqual([200, 'pairing', null]);
  expect(body.qr!.expires_in_s).toBeGreaterThan(15);
  await until(() => watched.events.length === 1, { what: 'the QR is on the stream of another replica' });
  expect(watched.events[0]).toMatchObject({
    event: 'qr',
    data: { code: body.qr!.code, image: body.qr!.image },
  });
  await phone({ kind: 'scan' });
  await until(() => watched.state.ended, { what: 'the stream ends' });
  expect(watched.events.map(({ event }) => event)).toEqual(['qr', 'paired', 'connected']);
  expect(watched.events[1]!.data).toEqual((await eventsOf('instance.paired'))[0]!.data);
  expect((await pair()).status).toBe(409);

  const { id: message } = await stage.customer.client.acceptedText(id, '5511987654321', 'de volta');
  await until(async () => (await stage.customer.client.message(message)).status === 'read', {
    what: 'the message is read',
  });
});

test('a refused pairing ends with 502 pairing-failed, and the next attempt starts again', async () => {
  await ensurePaired();
  await post('logout');
  await stateIs('pending_pair');
  expect((await pair()).status).toBe(200);
  const watched = openStream(`${stage.gateway.urls[0]!}${at('pairing/stream')}`, stage.customer.key.api_key);
  await until(() => watched.events.length === 1, { what: 'the QR is on the stream' });
  await phone({ kind: 'refuse', reason: 'passkey_required' });
  await until(() => watched.state.ended, { what: 'the stream ends' });
  expect(watched.events.at(-1)).toMatchObject({ event: 'error', data: { status: 502 } });
  await ensurePaired();
});

test('an unlinked instance is logged_out, fails its queued messages with not_paired, and can be paired again', async () => {
  await ensurePaired();
  await phone({ kind: 'unlink', reason: 'device_removed' });
  await stateIs('logged_out');
  expect((await eventsOf('instance.logged_out'))[0]!.data).toMatchObject({ reason: 'device_removed' });
  const { id: message } = await stage.customer.client.acceptedText(id, '5511987654321', 'perdida');
  await until(async () => (await stage.customer.client.message(message)).error?.code === 'not_paired', {
    what: 'the message fails',
  });
  await ensurePaired();
});

test('a dropped connection reconnects', async () => {
  await ensurePaired();
  const before = (await eventsOf('instance.connected')).length;
  await phone({ kind: 'drop', reason: 'connection_lost' });
  await until(async () => (await eventsOf('instance.connected')).length > before, {
    what: 'the instance is connected again',
  });
  expect((await eventsOf('instance.disconnected'))[0]!.data).toMatchObject({ reason: 'connection_lost' });
});

test('contacts, read marks and presence reach the network', async () => {
  await ensurePaired();
  const { client } = stage.customer;
  const check = (number: string) => client.call<ContactCheckOut>('GET', at(`contacts/${number}`));
  expect((await check('5511987654321')).body).toMatchObject({
    exists: true,
    jid: '5511987654321@s.whatsapp.net',
  });
  expect((await check('551198760000')).body).toMatchObject({ exists: false, jid: null });
  const lid = '101234567890123@lid';
  const known = { phone: null, exists: true, jid: lid, id: lid, lid, username: null };
  expect((await check(lid)).body).toEqual(known);
  const received = await post<{ message_id: string; wa_message_id: string }>('sandbox/inbound', {
    from: '5511987654321',
    text: 'oi',
  });
  const marks = { wa_message_ids: [received.body.wa_message_id] };
  expect((await post('chats/5511987654321/read', marks)).status).toBe(204);
  expect((await client.message(received.body.message_id)).status).toBe('read');
  expect((await post('chats/5511987654321/presence', { state: 'recording' })).status).toBe(204);
  expect((await signals()).slice(-2)).toEqual(['read', 'presence']);
});

test('restart answers 202, and the instance reconnects', async () => {
  await ensurePaired();
  const before = (await eventsOf('instance.connected')).length;
  const { status, body } = await post('restart');
  expect([status, body.id]).toEqual([202, id]);
  await until(async () => (await eventsOf('instance.connected')).length > before, {
    what: 'the instance is connected again',
  });
});

test('DELETE unlinks the device and ends the engine', async () => {
  await ensurePaired();
  const before = (await signals()).filter((kind) => kind === 'unlink').length;
  expect((await stage.customer.client.call('DELETE', `/v1/instances/${id}`)).status).toBe(204);
  // The response does not wait for the phone indefinitely.
  await until(async () => (await signals()).filter((kind) => kind === 'unlink').length > before, {
    what: 'the device is unlinked',
  });
  await until(() => stage.gateway.engine(id) === undefined, { what: 'its engine has ended' });
});
