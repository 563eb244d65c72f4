import { lowestUuidAt, newUuid } from '@gwk/core/ids/ids';
import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { readTraffic } from '../console/traffic.js';
import { trafficJob } from './traffic.js';

const HOUR = 3_600_000;

let at: JobWorld;
let accountId: string;
let instanceId: string;
beforeAll(async () => {
  at = await createJobWorld();
});
afterAll(() => at.world.close());
beforeEach(async () => {
  const { db } = at.deps;
  await db.maintenanceTask.deleteMany();
  await db.message.deleteMany();
  accountId = newUuid();
  await db.account.create({ data: { id: accountId, name: accountId } });
  instanceId = await at.world.addInstance({ accountId });
});

/** Milliseconds since 1970, in the middle of an hour. */
const hoursAgo = (hours: number) => (Math.floor(Date.now() / HOUR) - hours) * HOUR + HOUR / 2;

async function addMessage(hours: number, more: { sentAt?: Date; failedAt?: Date; inbound?: true } = {}) {
  const createdAt = new Date(hoursAgo(hours));
  const id = lowestUuidAt(createdAt.getTime()).replace(/.{12}$/, newUuid().slice(-12));
  const { inbound, ...times } = more;
  await at.deps.db.message.create({
    data: {
      ...{ id, accountId, instanceId, conversationId: newUuid(), to: '5511987654321', type: 'text' },
      ...{ status: 'queued', direction: inbound ? 'inbound' : 'outbound', createdAt, updatedAt: createdAt },
      ...times,
    },
  });
  return id;
}

const addDelivery = async (endpointId: string, hours: number, status: string) => {
  const createdAt = new Date(hoursAgo(hours));
  await at.deps.db.webhookDelivery.create({
    data: {
      ...{ id: lowestUuidAt(createdAt.getTime() + 1), accountId, endpointId, eventId: newUuid() },
      ...{ eventType: 'message.sent', status, createdAt },
    },
  });
};

async function runJob(): Promise<void> {
  while ((await trafficJob(at.deps).pass()).more);
}

const read = () =>
  readTraffic(at.deps.db, {
    ...{ credential: { kind: 'key', id: newUuid() }, accountId, accountName: '', scopes: new Set() },
    ...{ instances: null, requestsPerMinute: null, suspended: false },
  });
const total = (points: { sent: number; failed: number; received: number }[]) =>
  (['sent', 'failed', 'received'] as const).map((field) =>
    points.reduce((sum, point) => sum + point[field], 0),
  );

test('the same traffic shows before and after the worker has counted it', async () => {
  const endpointId = newUuid();
  await at.deps.db.webhookEndpoint.create({
    data: { id: endpointId, accountId, url: 'https://example.org/hook', eventTypes: [], headerNames: [] },
  });
  await addMessage(0, { inbound: true });
  await addMessage(3, { sentAt: new Date() });
  await addMessage(3, { failedAt: new Date() });
  await addMessage(24 * 20, { sentAt: new Date() });
  await addDelivery(endpointId, 0, 'failed');
  await addDelivery(endpointId, 5, 'succeeded');
  const before = await read();
  expect([total(before.hours), total(before.days)]).toEqual([
    [1, 1, 1],
    [2, 1, 1],
  ]);
  expect(before.recent).toMatchObject({ webhooksSucceeded: 1, webhooksFailed: 1 });
  await runJob();
  expect(await at.deps.db.accountTrafficHour.count({ where: { accountId } })).toBe(3);
  expect(await read()).toEqual(before);
});

test('counts the last day again, and nothing twice', async () => {
  const id = await addMessage(5);
  await runJob();
  expect(total((await read()).hours)).toEqual([0, 0, 0]);
  await at.deps.db.message.update({ where: { id }, data: { sentAt: new Date(), status: 'sent' } });
  // The next hour.
  await at.deps.db.maintenanceTask.updateMany({ data: { doneAt: new Date(hoursAgo(3) - HOUR / 2) } });
  await runJob();
  await runJob();
  expect(total((await read()).hours)).toEqual([1, 0, 0]);
});

test('forgets hours that no chart shows, and those of a deleted account', async () => {
  const { db } = at.deps;
  const start = (hours: number) => new Date(hoursAgo(hours));
  await db.accountTrafficHour.createMany({
    data: [
      { accountId, start: start(24 * 33) },
      { accountId, start: start(24 * 20) },
    ],
  });
  await runJob();
  expect(await db.accountTrafficHour.count({ where: { accountId } })).toBe(1);
  await db.account.delete({ where: { id: accountId } });
  expect(await db.accountTrafficHour.count({ where: { accountId } })).toBe(0);
});
