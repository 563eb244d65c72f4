import { newUuid } from '@gwk/core/ids/ids';
import type { InstanceState } from '@gwk/core/states';
import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { Prisma } from '../generated/prisma/client.js';
import type { JobDependencies } from './dependencies.js';
import {
  decideRefusal,
  expireMessagesJob,
  refuseMessagesJob,
  selectExpired,
  unconfirmedSendsJob,
  type WaitingInstance,
} from './waiting-messages.js';

const MINUTE = 60_000;
const LIMIT = 15 * MINUTE;
const ago = (ms: number): Date => new Date(Date.now() - ms);

let given: JobWorld;
beforeAll(async () => {
  given = await createJobWorld();
});
afterAll(() => given.world.close());

const status = async (id: string) => {
  const { status, errorCode } = await given.world.database.message.findUniqueOrThrow({ where: { id } });
  return errorCode === null ? status : `${status} ${errorCode}`;
};
const claim = async (messageId: string, attemptedAt: Date | null = null) => {
  const { database } = given.world;
  const lease = { claimId: newUuid(), claimEpoch: 1, claimHolder: newUuid(), claimedAt: new Date() };
  await database.outboxEntry.update({
    where: { messageId },
    data: { state: 'claimed', attemptedAt, ...lease },
  });
  await database.message.update({
    where: { id: messageId },
    data: { status: 'sending', version: { increment: 1 } },
  });
};
/** Moves the acceptance of the messages back by `ms`. */
const setBack = (messages: string[], ms: number) =>
  given.world.database.outboxEntry.updateMany({
    where: { messageId: { in: messages } },
    data: { createdAt: ago(ms) },
  });
const setState = (id: string, state: InstanceState, since = new Date()) =>
  given.world.database.instance.update({ where: { id }, data: { state, stateChangedAt: since } });
const failures = async (instance: string) =>
  (await given.events(instance)).map(({ type, data }) => [type, (data['error'] as { code: string }).code]);

describe('messages of an instance that will not send them', () => {
  test.each<[string, InstanceState, boolean, string | null]>([
    ['connected: sent', 'connected', false, null],
    ['connecting: queued', 'connecting', false, null],
    ['disconnected: queued', 'disconnected', false, null],
    ['never paired: failed', 'pending_pair', false, 'not_paired'],
    ['logged out: failed', 'logged_out', false, 'not_paired'],
    ['banned: failed', 'banned', false, 'not_connected'],
    ['deleted: canceled', 'connected', true, 'canceled'],
    ['deleted and banned: canceled', 'banned', true, 'canceled'],
  ])('%s', (_label, state, deleted, code) => {
    expect(decideRefusal({ state, deleted })).toBe(code);
  });

  test('fail at once with their event, and no others do', async () => {
    const [loggedOut, connected] = [await given.world.addInstance(), await given.world.addInstance()];
    const lost = [
      await given.accept(loggedOut, { to: '5511911110001' }),
      await given.accept(loggedOut, { to: '5511911110001' }),
      await given.accept(loggedOut, { to: '5511911110002' }),
    ];
    const kept = await given.accept(connected);
    await claim(lost[2]!);
    await setState(loggedOut, 'logged_out');
    expect(await refuseMessagesJob(given.deps).pass()).toEqual({ amount: 3, more: false });
    expect(await Promise.all(lost.map(status))).toEqual(lost.map(() => 'failed not_paired'));
    expect(await failures(loggedOut)).toEqual(lost.map(() => ['message.failed', 'not_paired']));
    expect(await given.queue(loggedOut)).toEqual([]);
    expect(await status(kept)).toBe('queued');
    expect(await refuseMessagesJob(given.deps).pass()).toEqual({ amount: 0, more: false });
  });

  test('are kept where a send was attempted', async () => {
    const instance = await given.world.addInstance();
    const [attempted, behind] = [await given.accept(instance), await given.accept(instance)];
    await claim(attempted, new Date());
    await setState(instance, 'banned');
    await refuseMessagesJob(given.deps).pass();
    expect([await status(attempted), await status(behind)]).toEqual(['sending', 'failed not_connected']);
    expect((await given.queue(instance)).map(({ messageId }) => messageId)).toEqual([attempted]);
    await given.world.database.outboxEntry.deleteMany({ where: { instanceId: instance } });
  });

  test('are kept where a send begins at this very moment', async () => {
    const instance = await given.world.addInstance();
    const message = await given.accept(instance);
    await claim(message);
    await setState(instance, 'banned');
    const before = () =>
      given.world.database.outboxEntry.update({
        where: { messageId: message },
        data: { attemptedAt: new Date() },
      });
    await refuseMessagesJob(interrupted(given.deps, before)).pass();
    expect(await status(message)).toBe('sending');
    await given.world.database.outboxEntry.deleteMany({ where: { instanceId: instance } });
  });

  test('fail in batches, also with two workers at once', async () => {
    const instance = await given.world.addInstance();
    await Promise.all(
      Array.from({ length: 450 }, (_, i) => given.accept(instance, { to: `55119222${10_000 + (i % 7)}` })),
    );
    await setState(instance, 'pending_pair');
    const first = await Promise.all([
      refuseMessagesJob(given.deps).pass(),
      refuseMessagesJob(given.deps).pass(),
    ]);
    expect(first.some(({ more }) => more)).toBe(true);
    while ((await refuseMessagesJob(given.deps).pass()).amount > 0);
    expect(await given.queue(instance)).toEqual([]);
    expect(await failures(instance)).toHaveLength(450);
  });
});

describe('which messages have expired', () => {
  const base: WaitingInstance = {
    instanceId: '',
    state: 'disconnected',
    deleted: false,
    offlineMs: 0,
    suspendedMs: null,
    otherAccountAt: null,
  };
  const none = null;
  test.each<[string, Partial<WaitingInstance>, ReturnType<typeof selectExpired>]>([
    ['never offline: none', {}, none],
    ['offline for less than the limit: none', { offlineMs: LIMIT - 1 }, none],
    [
      'offline for the limit: those queued before',
      { offlineMs: LIMIT },
      { startedAtMost: 0, waitedMs: LIMIT, acceptedMsAgo: null },
    ],
    [
      'connected after a longer offline time: those queued early enough',
      { state: 'connected', offlineMs: LIMIT + 7 },
      { startedAtMost: 7, waitedMs: LIMIT, acceptedMsAgo: null },
    ],
    ['suspended for less than the limit: none', { suspendedMs: LIMIT - 1 }, none],
    [
      'suspended for the limit: those accepted before',
      { suspendedMs: LIMIT },
      { startedAtMost: null, waitedMs: LIMIT, acceptedMsAgo: LIMIT },
    ],
    [
      'offline and suspended: both conditions',
      { offlineMs: LIMIT + 5, suspendedMs: 2 * LIMIT },
      { startedAtMost: 5, waitedMs: LIMIT, acceptedMsAgo: LIMIT },
    ],
  ])('%s', (_label, instance, expected) => {
    expect(selectExpired({ ...base, ...instance }, LIMIT)).toEqual(expected);
  });

  test('expires messages that waited 15 minutes while the instance was offline, not later ones', async () => {
    const instance = await given.world.addInstance();
    const early = [await given.accept(instance), await given.accept(instance)];
    await setBack(early, 16 * MINUTE);
    await setState(instance, 'disconnected', ago(16 * MINUTE));
    const late = await given.accept(instance);
    const other = await given.accept(instance, { to: '5511911110003' });
    await claim(early[0]!); // by an engine that has exited
    expect(await expireMessagesJob(given.deps, LIMIT).pass()).toEqual({ amount: 2, more: false });
    expect(await Promise.all(early.map(status))).toEqual(['failed expired', 'failed expired']);
    expect(await Promise.all([late, other].map(status))).toEqual(['queued', 'queued']);
    const queue = await given.queue(instance);
    expect(queue.map(({ messageId, head }) => [messageId, head]).sort()).toEqual(
      [[late, true], [other, true]].sort(), // prettier-ignore
    );
    expect(await failures(instance)).toEqual([
      ['message.failed', 'expired'],
      ['message.failed', 'expired'],
    ]);
  });

  test('expires no message early when an unresponsive engine is found late', async () => {
    const instance = await given.world.addInstance();
    const message = await given.accept(instance);
    await setBack([message], 10 * MINUTE);
    // The last contact with the engine was before the message.
    await setState(instance, 'disconnected', ago(15 * MINUTE + 9_000));
    expect((await expireMessagesJob(given.deps, LIMIT).pass()).amount).toBe(0);
    await setBack([message], 15 * MINUTE);
    expect((await expireMessagesJob(given.deps, LIMIT).pass()).amount).toBe(1);
  });

  test('counts neither time before acceptance nor time connected', async () => {
    const instance = await given.world.addInstance({ offlineMs: 999n * BigInt(MINUTE) });
    const message = await given.accept(instance);
    await given.world.database.outboxEntry.update({
      where: { messageId: message },
      data: { createdAt: ago(5 * 60 * MINUTE), headSince: ago(5 * 60 * MINUTE) },
    });
    await setState(instance, 'connected', ago(5 * 60 * MINUTE));
    expect((await expireMessagesJob(given.deps, LIMIT).pass()).amount).toBe(0);
    await setState(instance, 'connecting', ago(5 * MINUTE));
    expect((await expireMessagesJob(given.deps, LIMIT).pass()).amount).toBe(0);
    await setState(instance, 'connecting', ago(15 * MINUTE + 100));
    expect((await expireMessagesJob(given.deps, LIMIT).pass()).amount).toBe(1);
    expect(await status(message)).toBe('failed expired');
  });

  test('expires messages of a suspended account although the instance is connected', async () => {
    const { world } = given;
    const instance = await world.addInstance();
    const [old, young] = [await given.accept(instance), await given.accept(instance)];
    await world.database.outboxEntry.update({
      where: { messageId: old },
      data: { createdAt: ago(20 * MINUTE) },
    });
    const where = { id: world.accountId };
    await world.database.account.update({ where, data: { suspendedAt: ago(15 * MINUTE + 100) } });
    await expireMessagesJob(given.deps, LIMIT).pass();
    await world.database.account.update({ where, data: { suspendedAt: null } });
    expect([await status(old), await status(young)]).toEqual(['failed expired', 'queued']);
  });
});

describe('an unconfirmed send', () => {
  test('fails with timeout after 15 minutes, and the conversation goes on', async () => {
    const instance = await given.world.addInstance();
    const [unconfirmed, next] = [await given.accept(instance), await given.accept(instance)];
    const recent = await given.accept(instance, { to: '5511911110004' });
    await claim(unconfirmed, ago(LIMIT + 100));
    await claim(recent, ago(5 * MINUTE));
    expect(await unconfirmedSendsJob(given.deps, LIMIT).pass()).toEqual({ amount: 1, more: false });
    expect(await Promise.all([unconfirmed, next, recent].map(status))).toEqual([
      'failed timeout',
      'queued',
      'sending',
    ]);
    const queue = await given.queue(instance);
    expect(queue.find(({ messageId }) => messageId === next)).toMatchObject({ head: true });
    expect(await failures(instance)).toEqual([['message.failed', 'timeout']]);
    const content = await given.world.database.messageContent.findUniqueOrThrow({
      where: { messageId: unconfirmed },
    });
    expect(content.deleteAt).not.toBeNull();
    expect((await unconfirmedSendsJob(given.deps, LIMIT).pass()).amount).toBe(0);
  });
});

/** Runs `before` between the decision and its write. */
function interrupted(deps: JobDependencies, before: () => Promise<unknown>): JobDependencies {
  const db = new Proxy(deps.db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== '$queryRaw') return value;
      return async (sql: TemplateStringsArray | Prisma.Sql, ...values: unknown[]): Promise<unknown> => {
        const { text } = 'text' in sql ? sql : Prisma.sql(sql, ...values);
        if (text.includes('gwk_update_messages')) await before();
        return target.$queryRaw(sql, ...values);
      };
    },
  });
  return { ...deps, db };
}
