import { newUuid } from '@gwk/core/ids/ids';
import type { TestEngine } from '@gwk/test/support/api/internal-api';
import { sharedInternalApi, type InternalApiWorld } from '@gwk/test/support/api/internal-api';
import { failMessages } from '../message-status/apply-status.js';

/** Followers: messages that are claimed together with an earlier one of their conversation. */
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
async function acceptMany(count: number, by = engine): Promise<string[]> {
  const to = `55118${String(20_000_000 + people++)}`;
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push(await internalApi.accept({ instance: by.instanceId, to }));
  return ids;
}
const claim = async (limit?: number, claimId?: string, by = engine) =>
  (await by.claim(limit, claimId)).map(({ message_id }) => message_id);
const statuses = (ids: string[]) =>
  Promise.all(ids.map(async (id) => (await db.message.findUniqueOrThrow({ where: { id } })).status));
const change = (messageId: string, data: Parameters<typeof db.outboxEntry.update>[0]['data']) =>
  db.outboxEntry.update({ where: { messageId }, data });

async function takeOver(from: TestEngine): Promise<TestEngine> {
  await internalApi.operator.call('engine-ended', { instance_id: from.instanceId, pod: from.pod });
  return (await internalApi.addPod(from.instanceId, `${from.pod}x`)).acquire();
}

test('at most 8 messages of a conversation are claimed, and more after the last of them', async () => {
  const ids = await acceptMany(10);
  expect(await claim()).toEqual(ids.slice(0, 8));
  expect(await statuses(ids)).toEqual([...Array(8).fill('sending'), 'queued', 'queued']);
  for (const id of ids.slice(0, 7)) await engine.sent(id);
  expect(await claim()).toEqual([]);
  await engine.sent(ids[7]!);
  expect(await claim()).toEqual(ids.slice(8));
});

test('the first messages of other conversations are claimed before followers, and followers in turn', async () => {
  const [busy, other] = [await acceptMany(4), await acceptMany(2)];
  expect(await claim(1)).toEqual([busy[0]]);
  expect(await claim(2)).toEqual([other[0], other[1]]);
  await engine.sent(busy[0]!);
  const third = await acceptMany(2);
  expect(await claim(3)).toEqual([busy[1], third[0], busy[2]]);
});

test('a message that is not prepared holds back those behind it', async () => {
  const ids = await acceptMany(4);
  await change(ids[2]!, { prepared: false });
  expect(await claim()).toEqual(ids.slice(0, 2));
  for (const id of ids.slice(0, 2)) await engine.sent(id);
  expect(await claim()).toEqual([]);
  await change(ids[2]!, { prepared: true });
  expect(await claim()).toEqual(ids.slice(2));
});

test('followers come in the order of their conversation, not of their ids', async () => {
  const ids = await acceptMany(3);
  const [second, third] = await Promise.all(
    ids.slice(1).map((messageId) => db.outboxEntry.findUniqueOrThrow({ where: { messageId } })),
  );
  await change(ids[1]!, { seq: third!.seq });
  await change(ids[2]!, { seq: second!.seq });
  expect(await claim()).toEqual([ids[0], ids[2], ids[1]]);
});

test('a repeated claim returns them again', async () => {
  const ids = await acceptMany(3);
  const claimId = newUuid();
  expect(await claim(100, claimId)).toEqual(ids);
  expect(await claim(100, claimId)).toEqual(ids);
});

test('of an older epoch they follow a message that was never attempted', async () => {
  const ids = await acceptMany(3);
  expect(await claim()).toEqual(ids);
  const next = await takeOver(engine);
  expect(await engine.build(ids[0]!).catch(() => 'refused')).toBe('refused');
  expect(await claim(undefined, undefined, next)).toEqual(ids);
});

test('of an older epoch they wait for the outcome of an attempted message', async () => {
  const ids = await acceptMany(3);
  expect(await claim()).toEqual(ids);
  await engine.build(ids[0]!);
  await engine.build(ids[1]!);
  const next = await takeOver(engine);
  expect(await claim(undefined, undefined, next)).toEqual([ids[0]]);
  // Nobody holds the third one, so that it can be canceled.
  expect(await statuses(ids)).toEqual(['sending', 'sending', 'queued']);
  await next.sent(ids[0]!);
  for (const id of ids.slice(1)) {
    expect(await claim(undefined, undefined, next)).toEqual([id]);
    await next.sent(id);
  }
});

test('they are claimed only if the engine wants them', async () => {
  const ids = await acceptMany(3);
  const order = { claim_id: newUuid(), limit: 100, repeated: false };
  const { messages } = await engine.call('claims', order);
  expect(messages.map(({ message_id }) => message_id)).toEqual([ids[0]]);
  expect(await statuses(ids)).toEqual(['sending', 'queued', 'queued']);
});

test('one that fails while it is claimed can no longer be built', async () => {
  const ids = await acceptMany(3);
  await claim();
  await failMessages(internalApi.world, [ids[1]!], { code: 'opted_out', message: null });
  for (const id of ids) await engine.build(id);
  expect(await engine.build(ids[1]!)).toEqual([]);
  await engine.sent(ids[0]!);
  await engine.sent(ids[2]!);
  expect(await statuses(ids)).toEqual(['sent', 'failed', 'sent']);
});

test('of a suspended account they return to the queue with their head, and are claimed when it resumes', async () => {
  const ids = await acceptMany(3);
  const where = { id: internalApi.world.accountId };
  expect(await claim()).toEqual(ids);
  const next = await takeOver(engine);
  await db.account.update({ where, data: { suspendedAt: new Date() } });
  try {
    expect(await claim(undefined, undefined, next)).toEqual([]);
    expect(await statuses(ids)).toEqual(['queued', 'queued', 'queued']);
    const rows = await db.outboxEntry.findMany({ where: { messageId: { in: ids } } });
    expect(rows.map(({ state, claimId }) => [state, claimId])).toEqual(Array(3).fill(['waiting', null]));
  } finally {
    await db.account.update({ where, data: { suspendedAt: null } });
  }
  expect(await claim(undefined, undefined, next)).toEqual(ids);
});

test('of a suspended account they are not claimed behind an attempted head', async () => {
  const ids = await acceptMany(2);
  const where = { id: internalApi.world.accountId };
  expect(await claim()).toEqual(ids);
  await engine.build(ids[0]!);
  const next = await takeOver(engine);
  await db.account.update({ where, data: { suspendedAt: new Date() } });
  try {
    expect(await claim(undefined, undefined, next)).toEqual([ids[0]]);
    await next.sent(ids[0]!);
    expect(await claim(undefined, undefined, next)).toEqual([]);
    expect(await statuses(ids)).toEqual(['sent', 'queued']);
  } finally {
    await db.account.update({ where, data: { suspendedAt: null } });
  }
});

test('one that was a head before contacts were merged keeps its place', async () => {
  const ids = await acceptMany(3);
  await change(ids[2]!, { headSince: new Date(0) });
  expect(await claim()).toEqual(ids);
});

test('an engine that takes over is told of each message that its predecessor had claimed', async () => {
  const ids = await acceptMany(3);
  expect(await claim()).toEqual(ids);
  for (const id of ids) await engine.build(id);
  const next = await takeOver(engine);
  const told: unknown[] = [];
  for (const id of ids) {
    expect(await claim(undefined, undefined, next)).toEqual([id]);
    const at = new Date().toISOString();
    const outcomes = [{ kind: 'sent' as const, message_id: id, at, rendered_as: null }];
    told.push(await next.call('outcomes', { outcomes }));
  }
  expect(told).toEqual([{ waiting: true }, { waiting: true }, { waiting: false }]);
});

test('two engines that claim in one batch have limits of their own', async () => {
  const other = await (await internalApi.addEngine()).acquire();
  const mine = await acceptMany(4);
  const theirs = await acceptMany(4, other);
  expect(await Promise.all([claim(2), claim(3, undefined, other)])).toEqual([
    mine.slice(0, 2),
    theirs.slice(0, 3),
  ]);
});
