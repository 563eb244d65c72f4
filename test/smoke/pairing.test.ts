import type { ContactCheckOut } from '@gwk/core/resources/live';
import type { InstanceOut } from '@gwk/core/resources/instance';
import type { PairingOut } from '@gwk/core/resources/pairing';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { openStream } from '../support/sse.js';
import { until } from '../support/wait.js';

/**
 * The life of a number, through real processes: sandbox engines, whose phone and network are those of the harness.
 */
let stage: Stage;
let id: string;
const IDLE_MS = 2_000;

beforeAll(async () => {
  const operator = { GWK_OPERATOR_IDLE_ENGINE_MS: String(IDLE_MS) };
  stage = await openStage('numbers', { apis: 2, settings: { operator } });
  id = stage.instance.id;
}, 120_000);
beforeEach(() => stage.gateway.network.setPairingTerms({ codes: 6, codeMs: 20_000 }));
afterAll(() => stage.close(), 60_000);

const at = (rest: string): string => `/v1/instances/${id}/${rest}`;
const post = <T = InstanceOut>(rest: string, body?: unknown) =>
  stage.customer.client.call<T>('POST', at(rest), { ...(body !== undefined && { body }) });
const pair = () => post<PairingOut>('pairing');
const look = async () => (await stage.customer.client.call<PairingOut>('GET', at('pairing'))).body;
const phone = (event: Parameters<Stage['gateway']['network']['phone']>[1]) =>
  stage.gateway.network.phone(id, event);
const stateIs = (state: string) =>
  until(async () => (await stage.customer.client.instance(id)).state === state, { what: `it is ${state}` });
const eventsOf = (type: string) => stage.customer.client.events({ instance_id: id, type });
const signals = async () => (await stage.gateway.network.signals()).map(({ kind }) => kind);

/** Whatever came before: logged out, paired anew, connected. */
async function pairAnew(): Promise<void> {
  if ((await stage.customer.client.instance(id)).state === 'connected') return;
  expect((await pair()).status).toBe(200);
  await phone({ kind: 'scan' });
  await stateIs('connected');
}

test('sandbox after logout: pending_pair until POST pairing, then QR, paired, connected, and it sends again', async () => {
  const stream = () =>
    openStream(`${stage.gateway.urls[1]!}${at('pairing/stream')}`, stage.customer.key.api_key);
  const connected = stream();
  await until(() => connected.state.ended, { what: 'the stream of a connected instance ends' });
  expect(connected.events.map(({ event }) => event)).toEqual(['connected']);

  expect((await post('logout')).status).toBe(204);
  await stateIs('pending_pair');
  expect(await signals()).toContain('unlink');
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
    what: 'it is read',
  });
}, 90_000);

test('never-paired or logged-out instances idle have no engine; pairing starts it, and answers within 15 s', async () => {
  await pairAnew();
  await post('logout');
  await until(() => stage.gateway.engines().length === 0, { what: 'the idle engine has ended' });
  const before = performance.now();
  const { status, body } = await pair();
  expect([status, body.state]).toEqual([200, 'pairing']);
  expect(performance.now() - before).toBeLessThan(15_000);
  await phone({ kind: 'scan' });
  await stateIs('connected');
}, 90_000);

test('six QRs unread close the session: pending_pair; each was an instance.qr, whose code goes when it expires', async () => {
  await pairAnew();
  await post('logout');
  await stage.gateway.network.setPairingTerms({ codes: 6, codeMs: 500 });
  const before = (await eventsOf('instance.qr')).length;
  expect((await pair()).status).toBe(200);
  await until(async () => (await look()).state === 'pending_pair', { what: 'the session is closed' });
  const shown = async () => (await eventsOf('instance.qr')).slice(0, -before || undefined);
  expect(await shown()).toHaveLength(6);
  await until(async () => (await shown()).every(({ data }) => data['code'] === undefined), {
    what: 'the codes are gone from history',
  });
  expect((await shown())[0]!.data).toMatchObject({ expires_in_s: 1 });
  // Only delivered where it is subscribed to, and this destination takes what comes by itself.
  const deliveries = await stage.customer.client.deliveries(stage.endpointId);
  expect(deliveries.map(({ event_type }) => event_type)).not.toContain('instance.qr');
}, 90_000);

test('the network refuses: 502 pairing-failed, and the next attempt is a new one', async () => {
  await stateIs('pending_pair');
  await stage.gateway.network.setPairingTerms({ codes: 6, codeMs: 20_000 });
  expect((await pair()).status).toBe(200);
  const watched = openStream(`${stage.gateway.urls[0]!}${at('pairing/stream')}`, stage.customer.key.api_key);
  await until(() => watched.events.length === 1, { what: 'the QR is on the stream' });
  await phone({ kind: 'refuse', reason: 'passkey_required' });
  await until(() => watched.state.ended, { what: 'the stream ends' });
  expect(watched.events.at(-1)).toMatchObject({ event: 'error', data: { status: 502 } });
  await pairAnew();
}, 60_000);

test('unlinked on the phone: logged_out, waiting messages fail with not_paired, and it can be paired again', async () => {
  await pairAnew();
  await phone({ kind: 'unlink', reason: 'device_removed' });
  await stateIs('logged_out');
  expect((await eventsOf('instance.logged_out'))[0]!.data).toMatchObject({ reason: 'device_removed' });
  const { id: message } = await stage.customer.client.acceptedText(id, '5511987654321', 'perdida');
  await until(async () => (await stage.customer.client.message(message)).error?.code === 'not_paired', {
    what: 'the message fails',
  });
  await pairAnew();
}, 60_000);

test('a drop reconnects by itself', async () => {
  await pairAnew();
  const before = (await eventsOf('instance.connected')).length;
  await phone({ kind: 'drop', reason: 'connection_lost' });
  await until(async () => (await eventsOf('instance.connected')).length > before, { what: 'it is back' });
  expect((await eventsOf('instance.disconnected'))[0]!.data).toMatchObject({ reason: 'connection_lost' });
}, 60_000);

test('contacts, read marks and presence reach the network', async () => {
  await pairAnew();
  const { client } = stage.customer;
  const check = (number: string) => client.call<ContactCheckOut>('GET', at(`contacts/${number}`));
  expect((await check('5511987654321')).body).toMatchObject({
    exists: true,
    jid: '5511987654321@s.whatsapp.net',
  });
  expect((await check('551198760000')).body).toMatchObject({ exists: false, jid: null });
  const received = await post<{ message_id: string; wa_message_id: string }>('sandbox/inbound', {
    from: '5511987654321',
    text: 'oi',
  });
  const marks = { wa_message_ids: [received.body.wa_message_id] };
  expect((await post('chats/5511987654321/read', marks)).status).toBe(204);
  expect((await client.message(received.body.message_id)).status).toBe('read');
  expect((await post('chats/5511987654321/presence', { state: 'recording' })).status).toBe(204);
  expect((await signals()).slice(-2)).toEqual(['read', 'presence']);
}, 60_000);

test('restart: 202, and it connects anew', async () => {
  await pairAnew();
  const before = (await eventsOf('instance.connected')).length;
  const { status, body } = await post('restart');
  expect([status, body.id]).toEqual([202, id]);
  await until(async () => (await eventsOf('instance.connected')).length > before, { what: 'it is back' });
}, 60_000);

test('logout with no engine: 204, the unlinking is done at the next connection', async () => {
  await pairAnew();
  const { operator } = stage.gateway;
  await operator.stop();
  await until(() => stage.gateway.engines().length === 0, { what: 'no engine runs' });
  const before = (await signals()).filter((kind) => kind === 'unlink').length;
  expect((await post('logout')).status).toBe(204);
  expect((await stage.customer.client.instance(id)).state).toBe('pending_pair');
  await operator.start();
  await until(async () => (await signals()).filter((kind) => kind === 'unlink').length > before, {
    what: 'the device is unlinked',
  });
  await pairAnew();
}, 90_000);

test('banned for a while: instance.banned with its end, messages fail with not_connected, restart obeys the end', async () => {
  await pairAnew();
  // Not over before all of this has been looked at.
  const expires_at = new Date(Date.now() + 20_000).toISOString();
  await phone({ kind: 'ban', code: '402', expires_at });
  await stateIs('banned');
  expect((await eventsOf('instance.banned'))[0]!.data).toMatchObject({ code: '402', expires_at });
  const { id: message } = await stage.customer.client.acceptedText(id, '5511987654321', 'perdida');
  await until(async () => (await stage.customer.client.message(message)).error?.code === 'not_connected', {
    what: 'the message fails',
  });
  expect((await post('restart')).status).toBe(202);
  expect((await stage.customer.client.instance(id)).state).toBe('banned');
  expect((await pair()).body).toMatchObject({ status: 409 });
  await stateIs('connected');
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires_at));
}, 60_000);

test('a stopping API ends its streams', async () => {
  await pairAnew();
  await post('logout');
  await stateIs('pending_pair');
  const watched = openStream(`${stage.gateway.urls[1]!}${at('pairing/stream')}`, stage.customer.key.api_key);
  await until(() => watched.state.status === 200, { what: 'the stream is open' });
  const before = performance.now();
  await stage.gateway.apis[1]!.kill('SIGTERM');
  expect(performance.now() - before).toBeLessThan(8_000);
  // The end of the process may be seen before that of its connection.
  await until(() => watched.state.ended, { what: 'the stream has ended' });
  await stage.gateway.ready();
}, 60_000);

test('DELETE unlinks the device, and the number is gone', async () => {
  await pairAnew();
  const before = (await signals()).filter((kind) => kind === 'unlink').length;
  expect((await stage.customer.client.call('DELETE', `/v1/instances/${id}`)).status).toBe(204);
  // The answer does not wait for the phone for ever.
  await until(async () => (await signals()).filter((kind) => kind === 'unlink').length > before, {
    what: 'the device is unlinked',
  });
  await until(() => stage.gateway.engines().length === 0, { what: 'its engine has ended' });
}, 60_000);
