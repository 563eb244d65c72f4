import { randomBytes } from 'node:crypto';
import { newUuid } from '@gwk/core/ids/ids';
import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { retentionJob, type RetentionOptions } from './retention.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const options: RetentionOptions = {
  contentHours: 24,
  stateMonths: 25,
  auditMonths: 25,
};
const inMs = (ms: number): Date => new Date(Date.now() + ms);

describe('retention', () => {
  let given: JobWorld;
  beforeAll(async () => {
    given = await createJobWorld();
  });
  afterAll(() => given.world.close());

  const idAt = async (date: Date): Promise<string> => {
    const [row] = await given.world.database.$queryRaw<{ id: string }[]>`
      SELECT gwk_lowest_id(${date.toISOString()}::timestamptz) AS id`;
    return row!.id;
  };
  test('removes expired rows in batches, and nothing else', async () => {
    const { database: db, accountId } = given.world;
    const instanceId = await given.world.addInstance();
    const [past, future] = [inMs(-1_000), inMs(HOUR)];
    const bytes = new Uint8Array(1);
    const both = [past, future];
    const content = both.map((deleteAt) => ({
      messageId: newUuid(),
      instanceId,
      contentSealed: bytes,
      deleteAt,
    }));
    const waiting = { messageId: newUuid(), instanceId, contentSealed: bytes, deleteAt: null };
    await db.messageContent.createMany({ data: [...content, waiting] });
    const cardIds = await Promise.all([inMs(-91 * DAY), inMs(-89 * DAY)].map(idAt));
    await db.messageCard.createMany({
      data: cardIds.map((messageId) => ({ messageId, instanceId, cardSealed: bytes })),
    });
    const records = Array.from({ length: 1_500 }, (_, i) => ({
      ...{ id: newUuid(), accountId, bodyHash: bytes, expiresAt: i === 0 ? future : past },
    }));
    await db.idempotencyRecord.createMany({ data: records });
    await db.$executeRaw`
      INSERT INTO mass_sends (fingerprint, contact_id, at)
      SELECT gen_random_uuid(), gen_random_uuid(), now() - make_interval(hours => h) FROM unnest(ARRAY[25, 23]) AS h`;
    const endpointId = newUuid();
    await db.webhookEndpoint.create({ data: { id: endpointId, accountId, url: 'https://example.com/' } });
    const secrets = [past, future, null].map((expiresAt) => ({
      ...{ id: newUuid(), endpointId, secretSealed: bytes, expiresAt },
    }));
    await db.webhookSecret.createMany({ data: secrets });
    const checks = [25, 23].map((hours) => ({
      ...{ instanceId, name: `551199999${hours}00`, checkedAt: inMs(-hours * HOUR) },
    }));
    await db.contactCheck.createMany({ data: checks });
    const states = [inMs(-26 * 31 * DAY), inMs(-24 * 30 * DAY), null].map((endedAt) => ({
      ...{ id: newUuid(), instanceId, state: 'connected', since: inMs(-27 * 31 * DAY), endedAt },
    }));
    await db.instanceState.createMany({ data: states });
    const conversation = { id: newUuid(), instanceId, groupId: '120363000000000001@g.us' };
    await db.conversation.create({ data: conversation });
    const seen = [31, 29].map((days) => ({
      ...{ conversationId: conversation.id, participant: '', waMessageId: `${days}` },
      ...{ messageId: newUuid(), seenAt: inMs(-days * DAY) },
    }));
    await db.inboundSeen.createMany({ data: seen });

    const job = retentionJob(given.deps, options);
    expect((await job.pass()).more).toBe(true);
    expect(await job.pass()).toEqual({ amount: 499, more: false });
    expect((await db.inboundSeen.findMany()).map(({ waMessageId }) => waMessageId)).toEqual(['29']);
    const left = await db.messageContent.findMany({ where: { instanceId } });
    expect(left.map(({ messageId }) => messageId).sort()).toEqual(
      [content[1]!.messageId, waiting.messageId].sort(),
    );
    expect(await db.messageCard.findMany()).toMatchObject([{ messageId: cardIds[1] }]);
    expect(await db.idempotencyRecord.count()).toBe(1);
    const textsLeft = await db.$queryRaw`SELECT at > now() - interval '24 hours' AS recent FROM mass_sends`;
    expect(textsLeft).toEqual([{ recent: true }]);
    expect(await db.webhookSecret.count()).toBe(2);
    expect(await db.contactCheck.findMany()).toMatchObject([{ name: checks[1]!.name }]);
    expect(await db.instanceState.count({ where: { instanceId } })).toBe(2);
    expect(await job.pass()).toEqual({ amount: 0, more: false });
  });

  test('removes expired sessions, links, invitations and failed sign-ins', async () => {
    const { database: db, accountId } = given.world;
    const userId = newUuid();
    await db.user.create({ data: { id: userId, email: 'ana@example.org', name: 'Ana' } });
    for (const expiresAt of [inMs(-1_000), inMs(HOUR)]) {
      const row = () => ({ id: newUuid(), tokenHash: new Uint8Array(randomBytes(32)), expiresAt });
      await db.userSession.create({ data: { ...row(), userId, address: '', userAgent: '' } });
      await db.handoff.create({ data: { ...row(), userId } });
      await db.knownDevice.create({ data: { tokenHash: row().tokenHash, userId, expiresAt } });
      await db.providerSignIn.create({ data: row() });
      const { tokenHash: challenge, ...rest } = row();
      await db.passkeyChallenge.create({ data: { ...rest, challenge, kind: 'sign-in' } });
      const email = `${newUuid()}@example.org`;
      await db.invitation.create({ data: { ...row(), accountId, email, role: 'viewer' } });
      const subject = new Uint8Array(1);
      await db.signInFailure.create({ data: { id: newUuid(), subject, address: '', expiresAt } });
    }
    await retentionJob(given.deps, options).pass();
    const counts = [
      db.userSession.count(),
      db.handoff.count(),
      db.knownDevice.count(),
      db.providerSignIn.count(),
      db.passkeyChallenge.count(),
      db.invitation.count(),
      db.signInFailure.count(),
    ];
    expect(await Promise.all(counts)).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });

  test('removes audit entries after 25 months, but never before they were reported', async () => {
    const { database: db } = given.world;
    await db.auditEntry.deleteMany();
    const old = inMs(-26 * 31 * DAY);
    const entry = async (at: Date, subject: string, reportedAt: Date | null) => {
      const id = (await idAt(at)).slice(0, -12) + newUuid().slice(-12);
      await db.auditEntry.create({ data: { id, actor: 'cli:x', action: 'policy.set', subject, reportedAt } });
    };
    await entry(old, 'old', old);
    await entry(old, 'unreported', null);
    await entry(inMs(-24 * 30 * DAY), 'kept', old);
    await retentionJob(given.deps, options).pass();
    const left = await db.auditEntry.findMany({ orderBy: { subject: 'asc' } });
    expect(left.map(({ subject }) => subject)).toEqual(['kept', 'unreported']);
  });

  test.each([
    ['kept for 2 hours', 2, -23 * HOUR, 0],
    ['kept for 2 hours, left an hour ago', 2, 23 * HOUR, 1],
    ['kept for 48 hours, left 30 hours ago', 48, -6 * HOUR, 1],
    ['kept for 48 hours, left 49 hours ago', 48, -25 * HOUR, 0],
    ['not kept at all', 0, 24 * HOUR - 1_000, 0],
  ])('removes content as configured: %s', async (_label, contentHours, deleteAt, left) => {
    const { database: db } = given.world;
    const instanceId = await given.world.addInstance();
    const messageId = newUuid();
    await db.messageContent.create({
      data: { messageId, instanceId, contentSealed: new Uint8Array(1), deleteAt: inMs(deleteAt) },
    });
    await retentionJob(given.deps, { ...options, contentHours }).pass();
    expect(await db.messageContent.count({ where: { messageId } })).toBe(left);
  });
});
