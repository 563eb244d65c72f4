import { newUuid } from '@gwk/core/ids/ids';
import {
  sharedInternalApi,
  readRefusal,
  TestEngine,
  type InternalApiWorld,
} from '@gwk/test/support/api/internal-api';
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

/** Passes the lease to another pod, as after a crash. */
async function takeOver(from: TestEngine): Promise<TestEngine> {
  await internalApi.operator.call('engine-ended', { instance_id: from.instanceId, pod: from.pod });
  return (await internalApi.addPod(from.instanceId, `${from.pod}x`)).acquire();
}

/** Restarts the process in its pod: the token stays, the lease is new. */
async function restart(before: TestEngine): Promise<TestEngine> {
  await internalApi.operator.call('engine-ended', { instance_id: before.instanceId, pod: before.pod });
  return new TestEngine(before.client, before.instanceId, before.pod, before.token).acquire();
}

test('a claim does not wait for the disk; what was built after it does', async () => {
  const waits = (call: string) =>
    db.$transaction(async (tx) => {
      await tx.$executeRawUnsafe(`SELECT count(*) FROM ${call}`);
      const [row] = await tx.$queryRaw<{ waits: string }[]>`
        SELECT current_setting('synchronous_commit') AS waits`;
      return row!.waits;
    });
  expect(await waits("gwk_claim_messages('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')")).toBe('off');
  expect(await waits("gwk_store_built('{}', '{}', '{}', '{}', '{}', '{}', '[]', 1)")).not.toBe('off');
  expect(await waits(`gwk_claim_built('{}', '{}', '{}', '{}', '{}', '{}', '{"claims": [{}]}')`)).not.toBe(
    'off',
  );
});

describe('claims', () => {
  test('return the first message of each conversation, decrypted, then the next of each', async () => {
    const to = someone();
    const first = await accept(to);
    const second = await accept(to);
    const other = await accept();
    const claimed = await engine.claim();
    expect(ids(claimed)).toEqual([first, other, second]);
    expect(claimed[0]).toMatchObject({
      chat: `${to}@s.whatsapp.net`,
      type: 'text',
      built: null,
      attempted_at: null,
    });
    expect(JSON.parse(claimed[0]!.content)).toMatchObject({ type: 'text', text: { body: 'hello' } });
    expect(await status(first)).toBe('sending');
    expect(await engine.claim()).toEqual([]);
    await engine.build(first);
    await engine.sent(first);
    expect(await engine.claim()).toEqual([]);
    expect(await entry(second)).toMatchObject({ head: true, state: 'claimed' });
    const [sent, ...more] = await events();
    expect(more).toEqual([]);
    expect(sent).toMatchObject({
      type: 'message.sent',
      data: {
        message_id: `msg_${first.replaceAll('-', '')}`,
        wa_message_id: claimed[0]!.wa_message_id,
        chat: { id: `${to}@s.whatsapp.net`, is_group: false, phone: to },
        rendered_as: null,
      },
    });
    expect(await entry(first)).toBeNull();
  });

  test('return the same messages again under the same id, and take no others', async () => {
    const first = await accept();
    const claimId = newUuid();
    expect(ids(await engine.claim(1, claimId))).toEqual([first]);
    const second = await accept();
    expect(ids(await engine.claim(100, claimId))).toEqual([first]);
    expect(ids(await engine.claim())).toEqual([second]);
    await engine.sent(first);
    expect(ids(await engine.claim(100, newUuid()))).toEqual([]);
  });

  test('return the same messages to concurrent calls with one id', async () => {
    const accepted = new Set(await Promise.all(Array.from({ length: 20 }, () => accept())));
    const claim = [100, newUuid(), ++engine.number] as const;
    const answers = await Promise.all(Array.from({ length: 8 }, () => engine.claim(...claim)));
    for (const answer of answers) expect(new Set(ids(answer))).toEqual(accepted);
  });

  test('return no message twice under different ids', async () => {
    const accepted = await Promise.all(Array.from({ length: 40 }, () => accept()));
    const answers = await Promise.all(Array.from({ length: 10 }, () => engine.claim(7)));
    answers.push(await engine.claim());
    expect(answers.flatMap(ids).sort()).toEqual(accepted.sort());
  });

  test('serve conversations in turn: one that has just sent goes behind those that wait', async () => {
    const busy = someone();
    const one = await accept(busy);
    const two = await accept(busy);
    const waiting = await accept();
    expect(ids(await engine.claim(1))).toEqual([one]);
    await engine.sent(one);
    expect(ids(await engine.claim(1))).toEqual([waiting]);
    expect(ids(await engine.claim(1))).toEqual([two]);
  });

  test('of a new epoch start with the messages of the old one, with their bytes and attempts', async () => {
    const to = someone();
    const held = await accept(to);
    await engine.claim();
    expect(await engine.build(held)).toEqual([held]);
    const behind = await accept(to);
    const fresh = await accept();
    const next = await takeOver(engine);
    const [first, ...rest] = await next.claim(1);
    expect(rest).toEqual([]);
    expect(first).toMatchObject({ message_id: held, built: Buffer.from(`built ${held}`).toString('base64') });
    expect(first!.attempted_at).not.toBeNull();
    expect(ids(await next.claim())).toEqual([fresh]);
    await next.sent(held);
    expect(ids(await next.claim())).toEqual([behind]);
  });

  test('skip a message that is not prepared, and keep its place', async () => {
    const to = someone();
    const first = await accept(to);
    const second = await accept(to);
    const setPrepared = (prepared: boolean) =>
      db.outboxEntry.update({ where: { messageId: first }, data: { prepared } });
    await setPrepared(false);
    expect(await engine.claim()).toEqual([]);
    await setPrepared(true);
    expect(ids(await engine.claim())).toEqual([first, second]);
  });

  test('of a suspended account take no new message, and return those never attempted', async () => {
    const suspend = (suspendedAt: Date | null) =>
      db.account.update({ where: { id: internalApi.world.accountId }, data: { suspendedAt } });
    const unconfirmed = await accept();
    const unsent = await accept();
    const waiting = await accept();
    expect(ids(await engine.claim(2))).toEqual([unconfirmed, unsent]);
    await engine.build(unconfirmed);
    await suspend(new Date());
    try {
      const next = await takeOver(engine);
      expect(ids(await next.claim())).toEqual([unconfirmed]);
      const statuses = await Promise.all([unconfirmed, unsent, waiting].map(status));
      expect(statuses).toEqual(['sending', 'queued', 'queued']);
      await suspend(null);
      expect(ids(await next.claim())).toEqual([unsent, waiting]);
    } finally {
      await suspend(null);
    }
  });

  test('fail the messages of a conversation whose contact has opted out meanwhile', async () => {
    const to = someone();
    const first = await accept(to);
    const second = await accept(to);
    const other = await accept();
    const { contactId } = await db.contactName.findFirstOrThrow({
      where: { accountId: internalApi.world.accountId, name: to },
    });
    const optOut = { contactId, id: newUuid(), accountId: internalApi.world.accountId, source: 'api' };
    await db.optOut.create({ data: optOut });
    expect(ids(await engine.claim())).toEqual([other]);
    expect(await message(first)).toMatchObject({ status: 'failed', errorCode: 'opted_out' });
    expect(await engine.claim()).toEqual([]);
    expect(await message(second)).toMatchObject({ status: 'failed', errorCode: 'opted_out' });
    expect(await types()).toEqual(['message.failed', 'message.failed']);
    await db.optOut.deleteMany({ where: { contactId } });
  });

  test('fail a message that cannot be decrypted, and release the next', async () => {
    const to = someone();
    const broken = await accept(to);
    const next = await accept(to);
    await db.messageContent.update({
      where: { messageId: broken },
      data: { contentSealed: new Uint8Array(50) },
    });
    expect(ids(await engine.claim())).toEqual([next]);
    expect(await message(broken)).toMatchObject({ status: 'failed', errorCode: 'internal' });
    expect(await entry(next)).toMatchObject({ head: true });
  });

  test('of a deleted instance are refused', async () => {
    await accept();
    const where = { id: engine.instanceId };
    await db.instance.update({ where, data: { deletedAt: new Date() } });
    expect(await readRefusal(engine.claim())).toBe('gone');
  });
});

describe('built messages', () => {
  test('are stored once: other bytes are not stored', async () => {
    const id = await accept();
    await engine.claim();
    expect(await engine.build(id)).toEqual([id]);
    expect(await engine.build(id)).toEqual([id]);
    const messages = [{ message_id: id, built: Buffer.from('other').toString('base64'), rendered_as: null }];
    expect((await engine.call('built', { messages })).stored).toEqual([]);
    const [again] = await (await takeOver(engine)).claim();
    expect(again!.built).toBe(Buffer.from(`built ${id}`).toString('base64'));
  });

  test('record the attempt and the rendering', async () => {
    const id = await accept();
    await engine.claim();
    const messages = [{ message_id: id, built: 'AAAA', rendered_as: 'text_menu' as const }];
    await engine.call('built', { messages });
    expect((await message(id)).renderedAs).toBe('text_menu');
    expect((await entry(id))!.attemptedAt).not.toBeNull();
  });

  test('are stored for the holder of the claim only', async () => {
    const unclaimed = await accept();
    const unknown = newUuid();
    expect(await engine.build(unclaimed, unknown)).toEqual([]);
    const stranger = await (await internalApi.addEngine()).acquire();
    await engine.claim();
    expect(await stranger.build(unclaimed)).toEqual([]);
    expect((await entry(unclaimed))!.attemptedAt).toBeNull();
  });
});

describe('a batch', () => {
  test('with fenced engines affects no other', async () => {
    const engines = await Promise.all(
      Array.from({ length: 12 }, async () => (await internalApi.addEngine()).acquire()),
    );
    const fenced = engines.filter((_, index) => index % 3 === 0);
    const messages = await Promise.all(engines.map((one) => accept(undefined, one)));
    for (const one of fenced) await restart(one);
    const outcome = (one: TestEngine) => (fenced.includes(one) ? 'fenced' : 'answered');

    const claims = engines.map((one) => readRefusal(one.claim()));
    expect(await Promise.all(claims)).toEqual(engines.map(outcome));
    const builds = engines.map((one, index) => readRefusal(one.build(messages[index]!)));
    expect(await Promise.all(builds)).toEqual(engines.map(outcome));
    const reports = engines.map((one, index) => readRefusal(one.sent(messages[index]!)));
    expect(await Promise.all(reports)).toEqual(engines.map(outcome));
    const renewals = engines.map((one) => readRefusal(one.call('renew', { connected: true })));
    expect(await Promise.all(renewals)).toEqual(engines.map(outcome));
    expect(await Promise.all(messages.map(status))).toEqual(
      engines.map((one) => (fenced.includes(one) ? 'queued' : 'sent')),
    );
  });

  test('with the old and the new engine of one instance accepts the new one', async () => {
    const id = await accept();
    await engine.claim();
    await engine.build(id);
    const next = await restart(engine);
    await next.claim();
    const error = { code: 'wa_error' as const, message: null };
    const [old, current] = await Promise.all([
      readRefusal(engine.report({ kind: 'failed', message_id: id, at: now(), error })),
      readRefusal(next.sent(id)),
    ]);
    expect([old, current]).toEqual(['fenced', 'answered']);
    expect(await status(id)).toBe('sent');
  });
});
