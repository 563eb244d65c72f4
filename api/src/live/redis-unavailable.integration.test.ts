import { fromPublicId } from '@gwk/core/ids/ids';
import type { InstanceOut } from '../resources/instance.js';
import { pickPort } from '@gwk/test/support/ports';
import { ManualClock } from '@gwk/test/support/clock';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

/**
 * With Redis down, live operations answer 503 at once and reads succeed. The clock is fixed, so an operation
 * that waited would hang.
 */
let api: TestApi;
let client: ApiClient;
let id: string;

beforeAll(async () => {
  api = await openApi({ clock: new ManualClock(), redisUrl: `redis://127.0.0.1:${await pickPort()}` });
  client = await api.clientOf(await api.account());
  id = (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'loja' } })).body.id;
});
afterAll(() => api.stop());

const at = (rest: string): string => `/v1/instances/${id}/${rest}`;
const setState = (state: string) =>
  api.db.instance.update({ where: { id: fromPublicId('instance', id)! }, data: { state } });

test.each<[string, string, string, object | undefined]>([
  ['pairing', 'pending_pair', 'POST pairing', undefined],
  ['restart', 'connected', 'POST restart', undefined],
  ['a contact check', 'connected', 'GET contacts/5511987654321', undefined],
  ['read marks', 'connected', 'POST chats/5511987654321/read', { wa_message_ids: ['A'] }],
  ['presence', 'connected', 'POST chats/5511987654321/presence', { state: 'typing' }],
])('%s: 503 engine-unavailable with Retry-After, at once', async (_name, state, call, body) => {
  await setState(state);
  const [method, path] = call.split(' ') as [string, string];
  const answer = await client.call(method, at(path), { body });
  expect(answer).toMatchObject({ status: 503, body: { status: 503 } });
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
});

test('logout: 204 at once; the next connection unlinks', async () => {
  await setState('connected');
  expect((await client.call('POST', at('logout'))).status).toBe(204);
  const row = await api.db.instance.findUniqueOrThrow({ where: { id: fromPublicId('instance', id)! } });
  expect(row).toMatchObject({ state: 'pending_pair', unlinkId: expect.any(String) as string });
});

test('reads the policy and the state of a pairing', async () => {
  expect((await client.call('GET', at('policy'))).status).toBe(200);
  expect((await client.call('GET', at('pairing'))).status).toBe(200);
});
