import { newUuid } from '@gwk/core/ids/ids';
import { createLogger } from '@gwk/core/process/log';
import type { Outcome } from '@gwk/core/protocol/engine';
import {
  atReplica,
  createInternalApiWorld,
  TestEngine,
  type InternalApiWorld,
} from '@gwk/test/support/api/internal-api';
import type { MessageRow } from '../message-status/apply-status.js';
import { Claims } from './claims.js';
import type { InternalDeps } from './dependencies.js';
import { MessageCache } from './message-cache.js';
import { Outcomes } from './outcomes.js';

const INSTANCE = newUuid();
const createRow = (values: Partial<MessageRow> = {}): MessageRow =>
  ({
    id: newUuid(),
    instanceId: INSTANCE,
    waMessageId: newUuid(),
    now: new Date(0),
    ...values,
  }) as MessageRow;

describe('a cached message', () => {
  const clock = { now: 0 };
  let cache: MessageCache;
  beforeEach(() => (cache = new MessageCache(() => clock.now)));

  test('is found by both ids, in its last version', () => {
    const row = createRow({ version: 1 });
    cache.remember(row);
    cache.remember({ ...row, version: 2 });
    expect(cache.recall(INSTANCE, { message_id: row.id })).toMatchObject({ version: 2 });
    expect(cache.recall(INSTANCE, { wa_message_id: row.waMessageId! })).toMatchObject({ version: 2 });
  });

  test('is not found by another instance', () => {
    const row = createRow();
    cache.remember(row);
    expect(cache.recall(newUuid(), { message_id: row.id })).toBeUndefined();
    expect(cache.recall(newUuid(), { wa_message_id: row.waMessageId! })).toBeUndefined();
  });

  test('expires after fifteen seconds, and its clock advances until then', () => {
    const row = createRow();
    cache.remember(row);
    clock.now += 14_999;
    expect(cache.recall(INSTANCE, { message_id: row.id })!.now).toEqual(new Date(14_999));
    clock.now += 1;
    expect(cache.recall(INSTANCE, { message_id: row.id })).toBeUndefined();
  });

  test('is removed on request, or when the cache is full', () => {
    const rows = Array.from({ length: 20_001 }, () => createRow());
    for (const row of rows) cache.remember(row);
    const recalled = (row: MessageRow) => cache.recall(INSTANCE, { wa_message_id: row.waMessageId! });
    expect(recalled(rows[0]!)).toBeUndefined();
    expect(recalled(rows[1]!)).toBeDefined();
    cache.forget(rows[1]!.id);
    expect(recalled(rows[1]!)).toBeUndefined();
  });
});

describe('outcomes of cached messages', () => {
  let internalApi: InternalApiWorld;
  let engine: TestEngine;
  beforeAll(async () => {
    // A database of its own, because these tests create messages on days that their conversations do not
    // record.
    internalApi = await createInternalApiWorld();
  });
  afterAll(() => internalApi.close());
  beforeEach(async () => {
    engine = await (await internalApi.addEngine()).acquire();
  });

  let people = 0;
  const accept = () =>
    internalApi.accept({ instance: engine.instanceId, to: `55118${10_000_000 + people++}` });
  const at = () => new Date().toISOString();
  const sent = (message_id: string): Outcome => ({ kind: 'sent', message_id, at: at(), rendered_as: null });
  const receipt = (wa_message_id: string, status: 'delivered' | 'read'): Outcome => ({
    kind: 'receipt',
    wa_message_id,
    status,
    at: at(),
  });
  const message = (id: string) => internalApi.world.database.message.findUniqueOrThrow({ where: { id } });
  const types = async () => {
    const { instanceId } = engine;
    const rows = await internalApi.world.database.event.findMany({
      where: { instanceId },
      orderBy: { id: 'asc' },
    });
    return rows.map(({ type }) => type);
  };

  test('cost one statement each, from the claim to the last receipt', async () => {
    let statements = 0;
    const database = new Proxy(internalApi.world.database, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (name !== 'queryRows' && name !== '$queryRaw') return value;
        return (...query: unknown[]): unknown => {
          statements += 1;
          return (value as (...query: unknown[]) => unknown).apply(target, query);
        };
      },
    });
    const deps = {
      database,
      sealer: internalApi.world.sealer,
      log: createLogger('test', 'fatal'),
    } as InternalDeps;
    const cache = new MessageCache();
    const [claims, outcomes] = [new Claims(deps, cache), new Outcomes(deps, cache)];
    const { lease } = engine;
    const caller = { tokenId: newUuid(), instanceId: engine.instanceId, pod: engine.pod };
    const id = await accept();
    const { messages } = await claims.claim(caller, {
      ...lease,
      number: 1,
      repeated: false,
      claim_id: newUuid(),
      limit: 5,
    });
    const before = statements;
    const { wa_message_id } = messages[0]!;
    await outcomes.record(caller, { ...lease, outcomes: [sent(id)] });
    await outcomes.record(caller, { ...lease, outcomes: [receipt(wa_message_id, 'delivered')] });
    await outcomes.record(caller, { ...lease, outcomes: [receipt(wa_message_id, 'read')] });
    expect(statements - before).toBe(3);
    expect(await message(id)).toMatchObject({ status: 'read', errorCode: null });
    expect(await types()).toEqual(['message.sent', 'message.status_updated', 'message.status_updated']);
  });

  test('are decided on the current row after other changes', async () => {
    const id = await accept();
    const [claimed] = await engine.claim();
    await internalApi.world.database.$executeRaw`
      UPDATE messages SET status = 'failed', error_code = 'timeout', failed_at = now(), version = version + 1
      WHERE id = ${id}::uuid`;
    await engine.report(sent(id));
    expect(await message(id)).toMatchObject({ status: 'sent', errorCode: null, failedAt: null });
    await internalApi.world.database.$executeRaw`
      UPDATE messages SET deleted_for_all = true, version = version + 1 WHERE id = ${id}::uuid`;
    await engine.report(receipt(claimed!.wa_message_id, 'read'));
    expect(await message(id)).toMatchObject({ status: 'read', deletedForAll: true });
    expect(await types()).toEqual(['message.sent', 'message.status_updated']);
  });

  test('may be reported to several processes in turn', async () => {
    const elsewhere = await atReplica(internalApi, engine);
    const id = await accept();
    const [claimed] = await engine.claim();
    await elsewhere.report(sent(id));
    await engine.report(receipt(claimed!.wa_message_id, 'delivered'));
    await elsewhere.report(receipt(claimed!.wa_message_id, 'read'));
    await engine.report(sent(id), receipt(claimed!.wa_message_id, 'delivered'));
    expect(await message(id)).toMatchObject({ status: 'read' });
    expect(await types()).toEqual(['message.sent', 'message.status_updated', 'message.status_updated']);
  });

  test('are found for old messages that are not cached', async () => {
    const id = await accept();
    const [claimed] = await engine.claim();
    await engine.report(sent(id));
    const old = '01890000-0000-7000-8000-' + newUuid().slice(-12);
    await internalApi.world.database
      .$executeRaw`UPDATE messages SET id = ${old}::uuid WHERE id = ${id}::uuid`;
    await (await atReplica(internalApi, engine)).report(receipt(claimed!.wa_message_id, 'delivered'));
    expect(await message(old)).toMatchObject({ status: 'delivered' });
  });

  test('of a fenced engine change nothing', async () => {
    const id = await accept();
    await engine.claim();
    await internalApi.operator.call('engine-ended', { instance_id: engine.instanceId, pod: engine.pod });
    const restarted = new TestEngine(engine.client, engine.instanceId, engine.pod, engine.token);
    await restarted.acquire();
    await expect(engine.report(sent(id))).rejects.toMatchObject({ refusal: 'fenced' });
    expect(await message(id)).toMatchObject({ status: 'sending' });
    expect(await types()).toEqual([]);
  });

  // After a restore of the database, a fenced engine may have an epoch of the lease holder or a later one.
  test.each(
    [true, false].flatMap((isFirst) =>
      [true, false].flatMap((isCached) =>
        [-1, 0, 1].map((ahead) => {
          const order = isFirst ? 'just before' : 'just after';
          return { isFirst, isCached, ahead, order };
        }),
      ),
    ),
  )(
    'of a fenced engine do not affect those of the lease holder, reported $order ($isCached, $ahead)',
    async ({ isFirst, isCached, ahead }) => {
      const deps = { ...internalApi.world, log: createLogger('test', 'fatal') } as unknown as InternalDeps;
      const cache = new MessageCache();
      const [claims, outcomes] = [new Claims(deps, cache), new Outcomes(deps, cache)];
      const caller = { tokenId: newUuid(), instanceId: engine.instanceId, pod: engine.pod };
      const [first, second] = [await accept(), await accept()];
      const { lease: former } = engine;
      const { messages } = await claims.claim(caller, {
        ...former,
        number: 1,
        repeated: false,
        claim_id: newUuid(),
        limit: 5,
      });
      await outcomes.record(caller, { ...former, outcomes: [sent(first)] });
      await internalApi.operator.call('engine-ended', { instance_id: engine.instanceId, pod: engine.pod });
      const restarted = new TestEngine(engine.client, engine.instanceId, engine.pod, engine.token);
      await restarted.acquire();
      const fenced = ahead < 0 ? former : { epoch: restarted.lease.epoch + ahead, holder: newUuid() };
      if (!isCached) for (const id of [first, second]) cache.forget(id);
      const report = (lease: typeof former, id: string, at: number) =>
        outcomes.record(caller, {
          ...lease,
          outcomes: [receipt(messages[at]!.wa_message_id, 'read'), sent(id)],
        });
      // While the first is written, the others gather in one batch.
      const [, ...answers] = await Promise.allSettled([
        report(restarted.lease, second, 1),
        report(isFirst ? fenced : restarted.lease, first, 0),
        report(isFirst ? restarted.lease : fenced, first, 0),
      ]);
      const statuses = answers.map(({ status }) => status);
      expect(isFirst ? statuses : statuses.reverse()).toEqual(['rejected', 'fulfilled']);
      expect(await message(first)).toMatchObject({ status: 'read' });
    },
  );

  test('of a fenced engine are not cached: the next engine reports them again', async () => {
    const id = await accept();
    const [claimed] = await engine.claim();
    await engine.report(sent(id));
    await internalApi.operator.call('engine-ended', { instance_id: engine.instanceId, pod: engine.pod });
    const next = new TestEngine(engine.client, engine.instanceId, engine.pod, engine.token);
    await next.acquire();
    const delivered = receipt(claimed!.wa_message_id, 'delivered');
    await expect(engine.report(delivered)).rejects.toMatchObject({ refusal: 'fenced' });
    expect(await message(id)).toMatchObject({ status: 'sent' });
    await next.report(delivered);
    expect(await message(id)).toMatchObject({ status: 'delivered' });
    expect(await types()).toEqual(['message.sent', 'message.status_updated']);
  });
});
