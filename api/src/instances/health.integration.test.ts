import { fromPublicId, lowestUuidAt, newUuid } from '@gwk/core/ids/ids';
import type { HealthOut } from '../resources/health.js';
import type { InstanceOut } from '../resources/instance.js';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let instance: string;
let publicId: string;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  const { body } = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'loja' } });
  publicId = body.id;
  instance = fromPublicId('instance', body.id)!;
  const firstPairedAt = ago(100 * DAY);
  await api.db.instance.update({ where: { id: instance }, data: { firstPairedAt, state: 'connected' } });
});

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** An id of the given time. */
const uuidAt = (time: number): string => lowestUuidAt(time).slice(0, 14) + newUuid().slice(14);
const ago = (ms: number): Date => new Date(Date.now() - ms);

async function health(): Promise<HealthOut> {
  const { status, body } = await client.call<HealthOut>('GET', `/v1/instances/${publicId}/health`);
  expect(status).toBe(200);
  return body;
}

async function factors(): Promise<Record<string, { status: string; value: number | null; penalty: number }>> {
  return Object.fromEntries((await health()).factors.map((factor) => [factor.key, factor]));
}

interface MessageValues {
  status: string;
  errorCode?: string;
  at?: Date;
  direction?: string;
}

/** Creates contacts with one message each. */
async function addMessages(
  count: number,
  message: MessageValues,
  conversation: Record<string, unknown> = {},
): Promise<void> {
  for (let index = 0; index < count; index++) {
    const at = message.at ?? ago(2 * DAY);
    const contact = await api.db.contact.create({ data: { id: newUuid(), accountId: account.id } });
    const { id: conversationId } = await api.db.conversation.create({
      data: { id: newUuid(), instanceId: instance, contactId: contact.id, ...conversation },
    });
    const reached = ['sent', 'delivered', 'read'].includes(message.status);
    await api.db.message.create({
      data: {
        id: uuidAt(at.getTime()),
        accountId: account.id,
        instanceId: instance,
        conversationId,
        direction: message.direction ?? 'outbound',
        to: '5511999990000',
        type: 'text',
        status: message.status,
        errorCode: message.errorCode ?? null,
        createdAt: at,
        updatedAt: at,
        sentAt: reached ? at : null,
        deliveredAt: ['delivered', 'read'].includes(message.status) ? at : null,
      },
    });
  }
}

test('an old instance without traffic has no ratios and loses no points', async () => {
  const body = await health();
  expect(body).toMatchObject({ instance_id: publicId, score: 100, risk: 'low', warming_up: false });
  expect(body.factors.filter(({ status }) => status === 'info')).toHaveLength(5);
});

test('counts deliveries, reads and failures over 7 days, without inbound messages and neutral failures', async () => {
  await addMessages(10, { status: 'read' });
  await addMessages(8, { status: 'delivered' });
  await addMessages(7, { status: 'sent' });
  await addMessages(5, { status: 'failed', errorCode: 'wa_error' });
  await addMessages(6, { status: 'failed', errorCode: 'expired' });
  await addMessages(4, { status: 'delivered', direction: 'inbound' });
  await addMessages(9, { status: 'sent', at: ago(8 * DAY) });
  expect(await factors()).toMatchObject({
    delivery_ratio: { value: 0.72, status: 'attention', penalty: 10 },
    failure_ratio: { value: 0.1667, status: 'bad', penalty: 15 },
    read_ratio: { status: 'info' },
  });
});

test('does not count messages sent or delivered just now against the instance', async () => {
  await addMessages(20, { status: 'read' });
  await addMessages(20, { status: 'delivered', at: ago(0) });
  await addMessages(20, { status: 'sent', at: ago(0) });
  expect(await factors()).toMatchObject({ delivery_ratio: { value: 1 }, read_ratio: { value: 1 } });
});

test('counts replies of new contacts over 7 days, and new contacts of 24 hours against the limit', async () => {
  await addMessages(20, { status: 'read' }, { firstSentAt: ago(3 * DAY) });
  await addMessages(5, { status: 'read' }, { firstSentAt: ago(3 * DAY), lastWroteAt: ago(2 * DAY) });
  const policy = { new_contacts_per_day: 10 };
  await api.db.instance.update({ where: { id: instance }, data: { policy } });
  await addMessages(9, { status: 'read' }, { firstSentAt: ago(HOUR) });
  expect(await factors()).toMatchObject({
    reply_ratio: { value: 0.2, status: 'ok' },
    new_contacts: { value: 0.9, status: 'attention' },
  });
});

test('counts opt-outs by keyword, not those by API or the resumptions of a sandbox', async () => {
  await addMessages(25, { status: 'read' });
  const contacts = await api.db.contact.findMany({ where: { accountId: account.id }, take: 4 });
  for (const [index, { id: contactId }] of contacts.entries()) {
    const source = index === 2 ? 'api' : 'keyword';
    const resumed = index === 3;
    const data = { id: newUuid(), contactId, accountId: account.id, source, instanceId: instance, resumed };
    await api.db.optOut.create({ data });
  }
  expect(await factors()).toMatchObject({ opt_out_ratio: { value: 0.08, status: 'bad' } });
});

test('counts lost connections but not orderly ends, and recent bans', async () => {
  const states = [
    ...Array.from({ length: 6 }, () => ({ state: 'disconnected', reason: 'connection_lost' })),
    { state: 'disconnected', reason: 'engine_stopped' },
    { state: 'disconnected', reason: 'lease_unconfirmed' },
    { state: 'disconnected', reason: 'restart' },
    { state: 'banned', reason: '403' },
  ];
  for (const [index, state] of states.entries()) {
    const since = ago(HOUR + index);
    await api.db.instanceState.create({
      data: { id: newUuid(), instanceId: instance, ...state, since, endedAt: since },
    });
  }
  expect(await factors()).toMatchObject({
    reconnections: { value: 6, status: 'attention' },
    restrictions: { value: 1, status: 'attention', penalty: 20 },
  });
});

test('does not count what happened to the former account of the instance', async () => {
  const otherAccountAt = ago(DAY);
  await addMessages(30, { status: 'failed', errorCode: 'wa_error' });
  await addMessages(10, { status: 'read', at: ago(2 * HOUR) });
  const since = ago(25 * HOUR);
  const ban = { id: newUuid(), instanceId: instance, state: 'banned', since, endedAt: since };
  await api.db.instanceState.create({ data: ban });
  const before = await factors();
  expect(before).toMatchObject({ failure_ratio: { value: 0.75 }, restrictions: { value: 1 } });
  await api.db.instance.update({ where: { id: instance }, data: { otherAccountAt } });
  const after = await factors();
  expect(after).toMatchObject({ failure_ratio: { value: null, penalty: 0 }, restrictions: { value: 0 } });
});

test('banned: score 0, high risk and a recommendation', async () => {
  await api.db.instance.update({ where: { id: instance }, data: { state: 'banned' } });
  const body = await health();
  expect(body).toMatchObject({ score: 0, risk: 'high' });
  expect(body.recommendations[0]).toMatch(/bloqueado/);
});

test('a sandbox warms up from its creation, another instance from its first pairing', async () => {
  const { body } = await client.call<InstanceOut>('POST', '/v1/instances', {
    body: { name: 'areia', kind: 'sandbox' },
  });
  const sandbox = await client.call<HealthOut>('GET', `/v1/instances/${body.id}/health`);
  const ends = Date.parse(body.created_at) + 14 * DAY;
  expect(sandbox.body).toMatchObject({
    warming_up: true,
    warmup_ends_at: new Date(ends).toISOString(),
    score: 90,
  });
  await api.db.instance.update({ where: { id: instance }, data: { firstPairedAt: null } });
  expect(await health()).toMatchObject({ warming_up: true, warmup_ends_at: null });
});

test('writes its texts in the language asked for', async () => {
  const call = (headers: Record<string, string>) =>
    client.call<HealthOut>('GET', `/v1/instances/${publicId}/health`, { headers });
  const labelOf = ({ body }: Awaited<ReturnType<typeof call>>) =>
    body.factors.find(({ key }) => key === 'delivery_ratio')!.label;
  const english = await call({ 'accept-language': 'en' });
  expect(labelOf(english)).toBe('Delivery');
  expect(english.headers).toMatchObject({ 'content-language': 'en', vary: 'Accept-Language' });
  const other = await call({});
  expect([labelOf(other), other.headers['content-language']]).toEqual(['Entrega', 'pt']);
});
