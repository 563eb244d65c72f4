import type { z } from 'zod';
import type { ConsoleDeliveryOut, MessageDeliveryList } from '../resources/console/delivery.js';
import type { ConsoleEndpointList } from '../resources/console/endpoint.js';
import type { DeliveryOut, WebhookEndpointOut } from '../resources/webhook.js';
import { fromPublicId, lowestUuidAt, newUuid } from '@gwk/core/ids/ids';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { openBrowser } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import { makeWorld, type World } from '@gwk/test/support/api/world';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { emit } from '../events/emit.js';

type List = z.output<typeof MessageDeliveryList>;
type Endpoints = z.output<typeof ConsoleEndpointList>;

let api: TestApi;
let account: TestAccount;
let world: World;
let sealer: Sealer;

beforeAll(async () => {
  api = await sharedApi();
  sealer = new Sealer(parseEncryptionKeys(api.encryptionKeys));
});
beforeEach(async () => {
  account = await api.account();
  world = await makeWorld(api, account);
});

/** Writes an event about the message of the world, as an outcome does. */
const emitSent = () =>
  emit(api.db, sealer, [
    {
      accountId: account.id,
      instanceId: fromPublicId('instance', world.ids['instance_id']!)!,
      type: 'message.sent',
      data: { message_id: world.ids['message_id'], note: 'é' },
    },
  ]);

test('an endpoint shows its success rate and last error', async () => {
  const read = async () =>
    (
      await (
        await openBrowser(api, account, 'viewer')
      ).call<Endpoints>('GET', '/console/api/webhook-endpoints')
    ).body.data[0]!;
  const endpointId = fromPublicId('endpoint', world.ids['endpoint_id']!)!;
  const [known] = await api.db.webhookDelivery.findMany({ where: { endpointId } });
  const write = (status: string, attempts: number, id = newUuid()) =>
    api.db.webhookDelivery.create({ data: { ...known!, id, status, attempts } });
  expect(await read()).toMatchObject({ success_rate: 0, last_error: null, last_error_at: null });
  await write('succeeded', 1);
  await write('succeeded', 2);
  await write('pending', 1);
  // Neither tried nor of the last 24 hours.
  await write('pending', 0);
  await write('failed', 1, lowestUuidAt(Date.now() - 25 * 3_600_000));
  expect(await read()).toMatchObject({ id: world.ids['endpoint_id'], success_rate: 0.5 });
  const at = new Date();
  await api.db.webhookEndpoint.update({
    where: { id: endpointId },
    data: { lastError: 'answered 500', lastErrorAt: at },
  });
  expect(await read()).toMatchObject({ last_error: 'answered 500', last_error_at: at.toISOString() });
  const restricted = await openBrowser(api, account, 'admin', []);
  const { body } = await restricted.call<Endpoints>('GET', '/console/api/webhook-endpoints');
  expect(body.data).toEqual([]);
});

test('a message shows the deliveries of its events and no others, and their endpoint', async () => {
  const [eventId] = await emitSent();
  const browser = await openBrowser(api, account, 'viewer');
  const path = `/console/api/messages/${world.ids['message_id']!}/deliveries`;
  const { data } = (await browser.call<List>('GET', path)).body;
  expect(data.map((row) => [fromPublicId('event', row.event_id), row.status, row.endpoint_url])).toEqual([
    [eventId, 'pending', 'https://example.org/hook'],
  ]);
  const uuid = fromPublicId('instance', world.ids['instance_id']!)!;
  const restricted = await openBrowser(api, account, 'admin', [uuid]);
  expect((await restricted.call<List>('GET', path)).body.data).toHaveLength(1);
  const other = await openBrowser(api, account, 'admin', []);
  expect((await other.call('GET', path)).status).toBe(404);
});

test('a delivery shows its request without signature and values of custom headers, and the answer', async () => {
  const created = await world.client.call<WebhookEndpointOut>('POST', '/v1/webhook-endpoints', {
    body: { url: 'https://example.org/other', headers: { Authorization: 'Bearer hidden-token' } },
  });
  await emitSent();
  const browser = await openBrowser(api, account, 'developer');
  const { data } = (
    await browser.call<List>('GET', `/console/api/messages/${world.ids['message_id']!}/deliveries`)
  ).body;
  const { id } = data.find(({ endpoint_id }) => endpoint_id === created.body.id)!;
  await api.db.webhookDelivery.update({
    where: { id: fromPublicId('delivery', id)! },
    data: {
      status: 'failed',
      lastResponseSealed: new Uint8Array(
        sealer.seal(account.id, 'webhook_deliveries.last_response_sealed', '<b>no</b>'),
      ),
    },
  });
  const path = `/console/api/webhook-deliveries/${id}`;
  const { status, body } = await browser.call<ConsoleDeliveryOut>('GET', path);
  expect([status, body.status, body.response, body.endpoint_url]).toEqual([
    200,
    'failed',
    '<b>no</b>',
    'https://example.org/other',
  ]);
  const { headers, body: sent } = body.request!;
  expect(JSON.stringify(body)).not.toContain('hidden-token');
  expect(headers['authorization']).toBe('••••••');
  expect(headers['webhook-signature']).toBe('••••••');
  expect(JSON.stringify(body)).not.toMatch(/v1,[A-Za-z0-9+/]{20}/);
  expect(JSON.parse(sent)).toMatchObject({ type: 'message.sent', data: { note: 'é' } });
});

test('a delivery whose event has expired shows no request', async () => {
  const [eventId] = await emitSent();
  await api.db.event.delete({ where: { id: eventId! } });
  const browser = await openBrowser(api, account, 'viewer');
  const { data } = (
    await browser.call<List>('GET', `/console/api/messages/${world.ids['message_id']!}/deliveries`)
  ).body;
  const { body } = await browser.call<ConsoleDeliveryOut>(
    'GET',
    `/console/api/webhook-deliveries/${data[0]!.id}`,
  );
  expect([body.request, body.response]).toEqual([null, null]);
});

test('the HTTP interface shows neither request nor answer', async () => {
  await emitSent();
  const { body } = await world.client.call<{ data: DeliveryOut[] }>(
    'GET',
    `/v1/webhook-endpoints/${world.ids['endpoint_id']!}/deliveries`,
  );
  expect(Object.keys(body.data[0]!)).not.toEqual(expect.arrayContaining(['request']));
});
