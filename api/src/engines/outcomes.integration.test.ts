import { newUuid } from '@gwk/core/ids/ids';
import type { TestEngine } from '@gwk/test/support/api/internal-api';
import { sharedInternalApi, type InternalApiWorld } from '@gwk/test/support/api/internal-api';
import { openEventData } from '../events/emit.js';

let internalApi: InternalApiWorld;
let db: InternalApiWorld['world']['database'];
beforeAll(async () => {
  internalApi = await sharedInternalApi();
  db = internalApi.world.database;
});
afterAll(() => internalApi.close());

let engine: TestEngine;
beforeEach(async () => {
  engine = await (await internalApi.addEngine()).acquire();
});

let people = 0;
const someone = () => `55119${String(10_000_000 + people++)}`;
const accept = (to = someone(), by = engine) => internalApi.accept({ instance: by.instanceId, to });
const now = () => new Date().toISOString();
const message = (id: string) => db.message.findUniqueOrThrow({ where: { id } });
const status = async (id: string) => (await message(id)).status;
const entry = (messageId: string) => db.outboxEntry.findUnique({ where: { messageId } });
const ids = (messages: { message_id: string }[]) => messages.map((one) => one.message_id);
const events = async (by = engine) => {
  const where = { instanceId: by.instanceId };
  const rows = await db.event.findMany({ where, orderBy: { id: 'asc' } });
  return rows.map((row) => ({
    type: row.type,
    data: openEventData(internalApi.world.sealer, row.accountId, row.dataSealed),
  }));
};
const types = async (by = engine) => (await events(by)).map(({ type }) => type);

describe('outcomes', () => {
  test('reported again change nothing and emit nothing', async () => {
    const begun = Date.now();
    const id = await accept();
    await engine.claim();
    await engine.build(id);
    await Promise.all(Array.from({ length: 10 }, () => engine.sent(id)));
    const after = await message(id);
    await engine.sent(id);
    expect(await message(id)).toEqual(after);
    expect(await types()).toEqual(['message.sent']);
    expect(after.sentAt).not.toBeNull();
    const content = await db.messageContent.findUniqueOrThrow({
      where: { messageId: id },
    });
    const endedAt = content.deleteAt!.getTime() - 24 * 3_600_000;
    expect(endedAt).toBeGreaterThanOrEqual(begun);
    expect(endedAt).toBeLessThanOrEqual(Date.now());
  });

  test('of receipts match by network id, and imply skipped steps', async () => {
    const id = await accept();
    const [claimed] = await engine.claim();
    await engine.build(id);
    const receipt = { kind: 'receipt' as const, wa_message_id: claimed!.wa_message_id, at: now() };
    await engine.report({ ...receipt, status: 'read' });
    const row = await message(id);
    expect(row).toMatchObject({ status: 'read' });
    expect([row.sentAt, row.deliveredAt, row.readAt]).not.toContain(null);
    await engine.report({ ...receipt, status: 'delivered' });
    await engine.sent(id);
    expect(await types()).toEqual(['message.sent', 'message.status_updated']);
    expect(await entry(id)).toBeNull();
  });

  test('of receipts from groups name the first member in the event', async () => {
    const id = await accept('120363000000000001@g.us');
    const [claimed] = await engine.claim();
    await engine.build(id);
    const wa_message_id = claimed!.wa_message_id;
    const receipt = { kind: 'receipt' as const, wa_message_id, at: now(), status: 'read' as const };
    // In one batch. Batches run beside each other.
    const members = Array.from({ length: 100 }, (_, n) => `${n + 1}@lid`);
    await engine.report(...members.map((participant) => ({ ...receipt, participant })));
    const read = (await events()).filter(({ type }) => type === 'message.status_updated');
    expect(read.map(({ data }) => data['participant'])).toEqual(['1@lid']);
  });

  test('return whether this instance has messages to claim', async () => {
    const ids = [await accept(), await accept()];
    await engine.claim(1);
    const stranger = await (await internalApi.addEngine()).acquire();
    await accept(someone(), stranger);
    const sent = (id: string) => ({ kind: 'sent' as const, message_id: id, at: now(), rendered_as: null });
    const reportOutcomes = (by: TestEngine, ...outcomes: ReturnType<typeof sent>[]) =>
      by.call('outcomes', { outcomes });
    expect(await reportOutcomes(engine, sent(ids[0]!))).toEqual({ waiting: true });
    await engine.claim();
    expect(
      await Promise.all([reportOutcomes(engine, sent(ids[1]!)), reportOutcomes(stranger, sent(ids[0]!))]),
    ).toEqual([{ waiting: false }, { waiting: true }]);
  });

  test('of unknown messages are accepted and change nothing', async () => {
    const receipt = {
      kind: 'receipt' as const,
      wa_message_id: 'unknown',
      status: 'read' as const,
      at: now(),
    };
    await engine.report(receipt, { kind: 'sent', message_id: newUuid(), at: now(), rendered_as: null });
    expect(await types()).toEqual([]);
  });

  test('correct a timeout when they arrive late', async () => {
    const id = await accept();
    await engine.claim();
    await engine.build(id);
    const error = { code: 'timeout' as const, message: null };
    await engine.report({ kind: 'failed', message_id: id, at: now(), error });
    expect(await message(id)).toMatchObject({ status: 'failed', errorCode: 'timeout' });
    expect(await entry(id)).toBeNull();
    await engine.sent(id);
    expect(await message(id)).toMatchObject({ status: 'sent', errorCode: null, failedAt: null });
    expect(await types()).toEqual(['message.failed', 'message.sent']);
  });

  test('with a failure release the next message of the conversation', async () => {
    const to = someone();
    const first = await accept(to);
    const second = await accept(to);
    await engine.claim(1);
    const error = { code: 'recipient_not_on_whatsapp' as const, message: 'no account' };
    await engine.report({ kind: 'failed', message_id: first, at: now(), error });
    expect(ids(await engine.claim())).toEqual([second]);
    const [failed] = await events();
    expect(failed!.data).toMatchObject({ error, wa_message_id: null });
  });

  test('that return a message let it be claimed again at its place', async () => {
    const to = someone();
    const first = await accept(to);
    const second = await accept(to);
    await engine.claim();
    await engine.report({ kind: 'returned', message_id: first }, { kind: 'returned', message_id: second });
    expect([await status(first), await status(second)]).toEqual(['queued', 'queued']);
    expect(ids(await engine.claim())).toEqual([first, second]);
    await engine.build(first);
    await engine.report({ kind: 'returned', message_id: first });
    expect(await status(first)).toBe('sending');
    const [again] = await engine.claim();
    const built = Buffer.from(`built ${first}`).toString('base64');
    expect(again).toMatchObject({ message_id: first, built });
    expect(again!.attempted_at).not.toBeNull();
    await engine.report({ kind: 'returned', message_id: first, unsent: true });
    expect(await status(first)).toBe('queued');
    const [unsent] = await engine.claim();
    expect(unsent).toMatchObject({ message_id: first, built, attempted_at: null });
  });

  test('of one call may concern the same message several times', async () => {
    const id = await accept();
    const [claimed] = await engine.claim();
    const receipt = { kind: 'receipt' as const, wa_message_id: claimed!.wa_message_id, at: now() };
    const sent = { kind: 'sent' as const, message_id: id, at: now(), rendered_as: null };
    await engine.report(sent, { ...receipt, status: 'delivered' }, { ...receipt, status: 'read' }, sent);
    expect(await status(id)).toBe('read');
    expect(await types()).toEqual(['message.sent', 'message.status_updated', 'message.status_updated']);
  });

  test('of a deleted instance still record sent messages', async () => {
    const id = await accept();
    await engine.claim();
    await engine.build(id);
    const where = { id: engine.instanceId };
    await db.instance.update({ where, data: { deletedAt: new Date() } });
    await engine.sent(id);
    expect(await status(id)).toBe('sent');
  });

  test('create the deliveries of matching endpoints in the same transaction', async () => {
    const id = newUuid();
    const { accountId, database } = internalApi.world;
    await database.webhookEndpoint.create({
      data: {
        id,
        accountId,
        url: 'http://127.0.0.1:1/',
        eventTypes: [],
        instances: { create: { instanceId: engine.instanceId } },
      },
    });
    const message = await accept();
    await engine.claim();
    await engine.sent(message);
    const deliveries = await database.webhookDelivery.findMany({ where: { endpointId: id } });
    expect(deliveries).toMatchObject([
      { eventType: 'message.sent', status: 'pending', instanceId: engine.instanceId },
    ]);
    expect(await database.webhookQueueEntry.count({ where: { endpointId: id } })).toBe(1);
    await database.webhookEndpoint.delete({ where: { id } });
  });
});
