import type { InstanceOut } from '@gwk/api/resources/instance';
import type { PairingOut } from '@gwk/core/resources/pairing';
import type { PhoneEvent } from '@gwk/engine-pod/driver/sandbox/network';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { openStream } from '../support/sse.js';
import { realTime, until } from '../support/wait.js';

/** Pairings that time out, and pairings without an engine, an operator or an API. */
let stage: Stage;
let id: string;
const IDLE_MS = 2_000;

beforeAll(async () => {
  const operator = { GWK_OPERATOR_IDLE_ENGINE_MS: String(IDLE_MS) };
  stage = await openStage('pairing', { apis: 2, settings: { operator } });
  id = stage.instance.id;
});
afterAll(() => stage?.close());

const at = (rest: string): string => `/v1/instances/${id}/${rest}`;
const post = <T = InstanceOut>(rest: string, body?: unknown) =>
  stage.customer.client.call<T>('POST', at(rest), { ...(body !== undefined && { body }) });
const pair = () => post<PairingOut>('pairing');
const look = async () => (await stage.customer.client.call<PairingOut>('GET', at('pairing'))).body;
const phone = (event: PhoneEvent) => stage.gateway.network.phone(id, event);
const stateIs = (state: string) =>
  until(async () => (await stage.customer.client.instance(id)).state === state, {
    what: `the instance is ${state}`,
  });
const eventsOf = (type: string) => stage.customer.client.events({ instance_id: id, type });
const signals = async () => (await stage.gateway.network.signalsOf(id)).map(({ kind }) => kind);

/** Pairs and connects the instance, unless it is connected. */
async function ensurePaired(): Promise<void> {
  if ((await stage.customer.client.instance(id)).state === 'connected') return;
  expect((await pair()).status).toBe(200);
  await phone({ kind: 'scan' });
  await stateIs('connected');
}

test('an idle unpaired instance has no engine, and a pairing starts one and answers within 15 s', async () => {
  await ensurePaired();
  await post('logout');
  await until(() => stage.gateway.engines().length === 0, { what: 'the idle engine has ended' });
  const before = performance.now();
  const { status, body } = await pair();
  expect([status, body.state]).toEqual([200, 'pairing']);
  expect(performance.now() - before).toBeLessThan(realTime(15_000));
  await phone({ kind: 'scan' });
  await stateIs('connected');
});

test('six unread QR codes end the session, and the code of each instance.qr event is removed when it expires', async () => {
  await ensurePaired();
  await post('logout');
  await stage.gateway.network.setPairingTerms(id, { codes: 6, codeMs: 500 });
  const before = (await eventsOf('instance.qr')).length;
  expect((await pair()).status).toBe(200);
  await until(async () => (await look()).state === 'pending_pair', { what: 'the session is closed' });
  const shown = async () => (await eventsOf('instance.qr')).slice(0, -before || undefined);
  expect(await shown()).toHaveLength(6);
  await until(async () => (await shown()).every(({ data }) => data['code'] === undefined), {
    what: 'the codes are removed from the events',
  });
  expect((await shown())[0]!.data).toMatchObject({ expires_in_s: 1 });
  // instance.qr is only delivered to endpoints that subscribe to it. This endpoint has the default subscription.
  const deliveries = await stage.customer.client.deliveries(stage.endpointId);
  expect(deliveries.map(({ event_type }) => event_type)).not.toContain('instance.qr');
  await stage.gateway.network.setPairingTerms(id, { codes: 6, codeMs: 20_000 });
});

test('logout without an engine answers 204, and the device is unlinked at the next connection', async () => {
  await ensurePaired();
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
  await ensurePaired();
});

test('a temporary ban reports its end, fails messages with not_connected, and outlasts a restart', async () => {
  await ensurePaired();
  // The ban must last until all checks are done.
  const expires_at = new Date(Date.now() + realTime(20_000)).toISOString();
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
});

test('a stopping API ends its pairing streams', async () => {
  await ensurePaired();
  await post('logout');
  await stateIs('pending_pair');
  const watched = openStream(`${stage.gateway.urls[1]!}${at('pairing/stream')}`, stage.customer.key.api_key);
  await until(() => watched.state.status === 200, { what: 'the stream is open' });
  const before = performance.now();
  await stage.gateway.apis[1]!.kill('SIGTERM');
  expect(performance.now() - before).toBeLessThan(realTime(8_000));
  // The end of the process may be seen before the end of its connection.
  await until(() => watched.state.ended, { what: 'the stream has ended' });
  await stage.gateway.ready();
});
