import { newUuid } from '@gwk/core/ids/ids';
import type { TestEngine } from '@gwk/test/support/api/internal-api';
import { sharedInternalApi, type InternalApiWorld } from '@gwk/test/support/api/internal-api';
import { failMessages } from '../message-status/apply-status.js';

/** Messages that an engine built from their notification: the call that stores what was built claims them. */
let internalApi: InternalApiWorld;
let db: InternalApiWorld['world']['database'];
let engine: TestEngine;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
  db = internalApi.world.database;
});
afterAll(() => internalApi.close());
beforeEach(async () => {
  engine = await (await internalApi.addEngine()).acquire();
});

let people = 0;
const newPerson = (): string => `55118${String(30_000_000 + people++)}`;
const accept = (to = newPerson()): Promise<string> => internalApi.accept({ instance: engine.instanceId, to });
const TIMER = { seconds: 86_400, set_at: '2026-11-20T10:00:00.000Z' };

interface Claim {
  claimId?: string;
  timer?: typeof TIMER;
  by?: TestEngine;
}
const claimBuilt = async (ids: string[], { claimId, timer, by = engine }: Claim = {}) => {
  const messages = ids.map((id) => ({
    message_id: id,
    built: Buffer.from(`built ${id}`).toString('base64'),
    rendered_as: null,
    claim: { claim_id: claimId ?? newUuid(), ...(timer && { timer }) },
  }));
  return (await by.call('built', { messages })).stored;
};
const find = (id: string) => db.message.findUniqueOrThrow({ where: { id } });
const findEntry = (messageId: string) => db.outboxEntry.findUniqueOrThrow({ where: { messageId } });

test('one call claims a waiting message and stores what was built', async () => {
  const [id, claimId] = [await accept(), newUuid()];
  expect(await claimBuilt([id], { claimId })).toEqual([id]);
  expect(await find(id)).toMatchObject({ status: 'sending', version: 2 });
  expect(await findEntry(id)).toMatchObject({
    state: 'claimed',
    claimId,
    claimEpoch: engine.lease.epoch,
    attemptedAt: expect.any(Date),
  });
  expect(await engine.claim()).toEqual([]);
  await engine.sent(id);
  expect(await find(id)).toMatchObject({ status: 'sent' });
});

test('a repeat of the call is granted again and keeps the first form', async () => {
  const id = await accept();
  const claimId = newUuid();
  await claimBuilt([id], { claimId });
  expect(await claimBuilt([id], { claimId })).toEqual([id]);
  expect(await find(id)).toMatchObject({ version: 2 });
});

test('a late repeat claims nothing after the message was returned', async () => {
  const [id, claimId] = [await accept(), newUuid()];
  await claimBuilt([id], { claimId });
  await engine.report({ kind: 'returned', message_id: id, claim_id: claimId, unsent: true });
  expect(await find(id)).toMatchObject({ status: 'queued' });
  expect(await claimBuilt([id], { claimId })).toEqual([]);
  expect((await engine.claim()).map(({ message_id }) => message_id)).toEqual([id]);
});

test('a message that a claim has granted meanwhile is stored under that claim', async () => {
  const [id, claimId] = [await accept(), newUuid()];
  await engine.claim(100, claimId);
  expect(await claimBuilt([id])).toEqual([id]);
  expect(await findEntry(id)).toMatchObject({ claimId });
});

test('the second message of a conversation is refused', async () => {
  const to = newPerson();
  const [first, second] = [await accept(to), await accept(to)];
  expect(await claimBuilt([second])).toEqual([]);
  expect(await find(second)).toMatchObject({ status: 'queued', version: 2 });
  expect(await claimBuilt([first, second])).toEqual([first]);
});

test('an ended, canceled, unprepared or foreign message is refused, and the others of the call are not', async () => {
  const [ended, unprepared, good] = [await accept(), await accept(), await accept()];
  await failMessages({ database: db, sealer: internalApi.world.sealer }, [ended], {
    code: 'expired',
    message: null,
  });
  await db.outboxEntry.update({ where: { messageId: unprepared }, data: { prepared: false } });
  const other = await (await internalApi.addEngine()).acquire();
  const foreign = await internalApi.accept({ instance: other.instanceId, to: newPerson() });
  expect(await claimBuilt([ended, unprepared, foreign, good])).toEqual([good]);
  expect(await find(foreign)).toMatchObject({ status: 'queued', version: 1 });
});

test('a contact who has opted out gets nothing', async () => {
  const id = await accept();
  const { conversationId } = await findEntry(id);
  const { contactId } = await db.conversation.findUniqueOrThrow({ where: { id: conversationId } });
  const { accountId } = internalApi.world;
  await db.optOut.create({
    data: { id: newUuid(), accountId, contactId: contactId!, source: 'api' } as never,
  });
  expect(await claimBuilt([id])).toEqual([]);
});

test('a message of a suspended account is refused', async () => {
  const id = await accept();
  const where = { id: internalApi.world.accountId };
  await db.account.update({ where, data: { suspendedAt: new Date() } });
  try {
    expect(await claimBuilt([id])).toEqual([]);
  } finally {
    await db.account.update({ where, data: { suspendedAt: null } });
  }
});

const setTimer = async (messageId: string, timer: typeof TIMER | null) => {
  const { conversationId } = await findEntry(messageId);
  const data = { timerS: timer?.seconds ?? null, timerSetAt: timer?.set_at ?? null };
  await db.conversation.update({ where: { id: conversationId }, data });
};

test('a message with another timer of disappearing messages is refused', async () => {
  const [without, shorter, right] = [await accept(), await accept(), await accept()];
  for (const id of [without, shorter, right]) await setTimer(id, TIMER);
  expect(await claimBuilt([without])).toEqual([]);
  expect(await claimBuilt([shorter], { timer: { ...TIMER, seconds: 1 } })).toEqual([]);
  expect(await claimBuilt([right], { timer: TIMER })).toEqual([right]);
});

test('a message that a claim has granted meanwhile is not stored with another timer', async () => {
  const id = await accept();
  await setTimer(id, TIMER);
  await engine.claim();
  expect(await claimBuilt([id])).toEqual([]);
  expect(await findEntry(id)).toMatchObject({ attemptedAt: null });
  expect(await claimBuilt([id], { timer: TIMER })).toEqual([id]);
  // Once it may have left, the timer no longer matters.
  await setTimer(id, null);
  expect(await claimBuilt([id], { timer: TIMER })).toEqual([id]);
});

test('after a refusal a late attempt of the call claims nothing', async () => {
  const to = newPerson();
  const [first, second] = [await accept(to), await accept(to)];
  const claimId = newUuid();
  expect(await claimBuilt([second], { claimId })).toEqual([]);
  await engine.claim(1);
  await engine.build(first);
  await engine.sent(first);
  expect(await claimBuilt([second], { claimId })).toEqual([]);
  expect((await engine.claim()).map(({ message_id }) => message_id)).toEqual([second]);
});

test('an engine without the lease is refused', async () => {
  const id = await accept();
  const former = { ...engine.lease };
  await internalApi.operator.call('engine-ended', { instance_id: engine.instanceId, pod: engine.pod });
  await (await internalApi.addPod(engine.instanceId, 'pod-2')).acquire();
  await expect(claimBuilt([id], { by: engine.with(former) })).rejects.toThrow();
  expect(await find(id)).toMatchObject({ status: 'queued', version: 1 });
});

test.each([
  ['first', [TIMER, undefined]],
  ['last', [undefined, TIMER]],
])('a call that names a message twice claims it if one timer is right: the %s', async (_which, timers) => {
  const id = await accept();
  await setTimer(id, TIMER);
  const built = Buffer.from('built').toString('base64');
  const messages = timers.map((timer) => ({
    ...{ message_id: id, built, rendered_as: null },
    claim: { claim_id: newUuid(), ...(timer && { timer }) },
  }));
  expect((await engine.call('built', { messages })).stored).toContain(id);
  expect(await find(id)).toMatchObject({ status: 'sending', version: 2 });
  expect(await findEntry(id)).toMatchObject({ state: 'claimed' });
});
