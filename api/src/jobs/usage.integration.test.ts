import { lowestUuidAt, newUuid } from '@gwk/core/ids/ids';
import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { readFullAccounts, usageJob } from './usage.js';

const MINUTE = 60_000;
const DAY = 86_400_000;
const LIMITS = { accountMediaBytes: 1_000, accountMediaFiles: 10, accountEventBytes: 1_000 };

let at: JobWorld;
let accountId: string;
beforeAll(async () => {
  at = await createJobWorld();
});
afterAll(() => at.world.close());
beforeEach(async () => {
  const { db } = at.deps;
  await db.event.deleteMany();
  await db.maintenanceTask.deleteMany();
  await db.account.deleteMany({ where: { id: { not: at.world.accountId } } });
  accountId = newUuid();
  await db.account.create({ data: { id: accountId, name: accountId } });
});

const addEvent = (ageMs: number, bytes = 100) => {
  const time = Date.now() - ageMs;
  const data = { accountId, type: 'message.received', dataSealed: new Uint8Array(bytes) };
  return at.deps.db.event.create({ data: { ...data, id: lowestUuidAt(time), timestamp: new Date(time) } });
};
const addFile = async (size: number, removedAt: Date | null = null) => {
  const id = newUuid();
  const now = new Date();
  await at.deps.db.media.create({
    data: {
      ...{ id, accountId, mimetype: 'text/plain', size, storeKey: id, expiresAt: now, removedAt },
      sha256: new Uint8Array(32),
      keySealed: new Uint8Array(0),
    },
  });
  return id;
};
async function runJob(): Promise<void> {
  const job = usageJob(at.deps, { eventDays: 90 });
  while ((await job.pass()).more);
}
const usage = async () => {
  const row = await at.deps.db.accountUsage.findUnique({ where: { accountId } });
  const { events = 0n, eventBytes = 0n, mediaBytes = 0n, mediaFiles = 0 } = row ?? {};
  return {
    events: Number(events),
    eventBytes: Number(eventBytes),
    mediaBytes: Number(mediaBytes),
    mediaFiles,
  };
};

test('counts each event once, and none of the last 5 minutes', async () => {
  for (const age of [3 * DAY, 2 * DAY, 90 * MINUTE, 10 * MINUTE, MINUTE]) await addEvent(age);
  await runJob();
  const counted = await usage();
  expect(counted.events).toBe(4);
  expect(counted.eventBytes).toBeGreaterThanOrEqual(400);
  expect(counted.eventBytes).toBeLessThan(500);
  await runJob();
  expect(await usage()).toEqual(counted);
});

test('counts the cards for quotes with the events of their day, once', async () => {
  const { db } = at.deps;
  const instanceId = await at.world.addInstance({ accountId });
  const addCard = (ageMs: number, bytes: number) =>
    db.messageCard.create({
      data: {
        ...{ messageId: lowestUuidAt(Date.now() - ageMs), instanceId, cardSealed: new Uint8Array(bytes) },
      },
    });
  await addEvent(2 * DAY, 100);
  for (const age of [2 * DAY, 90 * MINUTE, MINUTE]) await addCard(age, 1_000);
  await runJob();
  const counted = await usage();
  expect(counted.events).toBe(1);
  expect(counted.eventBytes).toBeGreaterThanOrEqual(2_100);
  expect(counted.eventBytes).toBeLessThan(2_200);
  await runJob();
  expect(await usage()).toEqual(counted);
});

test('forgets the events of expired days', async () => {
  const { db } = at.deps;
  const day = (age: number) => new Date(Date.now() - age * DAY);
  await db.accountEventDay.createMany({
    data: [
      { accountId, day: day(92), events: 5, bytes: 50 },
      { accountId, day: day(89), events: 3, bytes: 30 },
    ],
  });
  await runJob();
  expect(await usage()).toMatchObject({ events: 3, eventBytes: 30 });
});

test('follows the files of an account through every change of a row', async () => {
  const { db } = at.deps;
  const [first, second] = [await addFile(300), await addFile(20)];
  await addFile(7, new Date());
  expect(await usage()).toMatchObject({ mediaBytes: 320, mediaFiles: 2 });
  await db.media.update({ where: { id: first }, data: { mimetype: 'image/png' } });
  expect(await usage()).toMatchObject({ mediaBytes: 320, mediaFiles: 2 });
  await db.media.update({ where: { id: first }, data: { removedAt: new Date() } });
  expect(await usage()).toMatchObject({ mediaBytes: 20, mediaFiles: 1 });
  await db.media.deleteMany({ where: { id: { in: [first, second] } } });
  expect(await usage()).toMatchObject({ mediaBytes: 0, mediaFiles: 0 });
});

test('repairs wrong counters of files once a day', async () => {
  await addFile(300);
  const where = { accountId };
  await at.deps.db.accountUsage.update({ where, data: { mediaBytes: 1, mediaFiles: 9 } });
  await runJob();
  expect(await usage()).toMatchObject({ mediaBytes: 1, mediaFiles: 9 });
  await at.deps.db.accountUsage.update({
    where,
    data: { recountedAt: new Date(Date.now() - 25 * 60 * MINUTE) },
  });
  await runJob();
  expect(await usage()).toMatchObject({ mediaBytes: 300, mediaFiles: 1 });
});

test('shows accounts from 80 % of a limit on, fullest first', async () => {
  await addFile(799);
  expect(await readFullAccounts(at.deps.db, LIMITS)).toEqual([]);
  await addFile(1);
  const data = { maxMediaFiles: 1 };
  await at.deps.db.account.update({ where: { id: accountId }, data });
  expect(await readFullAccounts(at.deps.db, LIMITS)).toEqual([
    { account: accountId, resource: 'media_files', ratio: 2 },
    { account: accountId, resource: 'media_bytes', ratio: 0.8 },
  ]);
});

test('an account can be deleted with its files and counters', async () => {
  await addFile(300);
  await runJob();
  await at.deps.db.account.delete({ where: { id: accountId } });
  expect(await at.deps.db.accountUsage.count({ where: { accountId } })).toBe(0);
});
