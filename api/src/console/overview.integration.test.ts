import type { z } from 'zod';
import type { OverviewOut } from '../resources/console/overview.js';
import { fromPublicId } from '@gwk/core/ids/ids';
import { openBrowser, type Browser } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import { makeWorld, type World } from '@gwk/test/support/api/world';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';

type Overview = z.output<typeof OverviewOut>;

let api: TestApi;
let account: TestAccount;
let world: World;
let instanceId: string;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  world = await makeWorld(api, account);
  instanceId = fromPublicId('instance', world.ids['instance_id']!)!;
});

const read = async (browser: Browser) => (await browser.call<Overview>('GET', '/console/api/overview')).body;
const total = (points: Overview['hours'], field: 'sent' | 'failed' | 'received') =>
  points.reduce((sum, point) => sum + point[field], 0);

test('counts instances, messages and webhook deliveries of the account', async () => {
  const id = fromPublicId('message', world.ids['message_id']!)!;
  const now = new Date();
  await api.db.message.updateMany({ where: { id }, data: { status: 'read', sentAt: now, readAt: now } });
  await world.client.call('POST', `/v1/instances/${world.ids['instance_id']!}/sandbox/inbound`, {
    body: { from: '5511987654321', text: 'oi' },
  });
  const body = await read(await openBrowser(api, account, 'viewer'));
  expect(Object.values(body.instances).reduce((sum, count) => sum + count, 0)).toBe(1);
  expect([body.hours.length, body.days.length]).toEqual([24, 30]);
  for (const points of [body.hours, body.days]) {
    expect([total(points, 'sent'), total(points, 'failed'), total(points, 'received')]).toEqual([1, 0, 1]);
  }
  expect([body.delivery_rate, body.read_rate, body.webhook_success]).toEqual([0, 1, 0]);
});

test('lists what needs a person, and hides webhooks from roles that do not read them', async () => {
  await api.db.instance.update({ where: { id: instanceId }, data: { state: 'banned' } });
  await api.db.webhookEndpoint.updateMany({
    where: { accountId: account.id },
    data: { enabled: false, disabledReason: 'failing' },
  });
  const banned = { reason: 'banned', instance_id: world.ids['instance_id'], endpoint_id: null, name: 'one' };
  expect((await read(await openBrowser(api, account, 'owner'))).attention).toEqual([
    banned,
    {
      reason: 'webhook_disabled',
      instance_id: null,
      endpoint_id: world.ids['endpoint_id'],
      name: 'https://example.org/hook',
    },
  ]);
  const agent = await read(await openBrowser(api, account, 'agent'));
  expect([agent.attention, agent.webhook_success]).toEqual([[banned], null]);
});

test('a restricted member sees nothing of other instances', async () => {
  await api.db.instance.update({ where: { id: instanceId }, data: { state: 'banned' } });
  const body = await read(await openBrowser(api, account, 'owner', []));
  expect(new Set(Object.values(body.instances))).toEqual(new Set([0]));
  expect([body.attention, total(body.days, 'sent'), body.webhook_success]).toEqual([[], 0, null]);
});
