import { newUuid } from '@gwk/core/ids/ids';
import { createLogger } from '@gwk/core/process/log';
import {
  findContactId,
  createWorld,
  optOut,
  readOutcome,
  people,
  someone,
  toUuid,
  type Send,
  type World,
} from '@gwk/test/support/api/acceptance';
import { makeRecordId } from '../../http/idempotency/store.js';
import { closeRedis, openRedis } from '../../platform/redis.js';
import type { Acceptor } from './acceptor.js';
import { SEND_ROUTE } from './gather.js';

let world: World;
let acceptor: Acceptor;
beforeAll(async () => {
  world = await createWorld();
  acceptor = world.acceptor();
});
afterAll(() => world.close());

/** Each test has an instance of its own: limits are per instance. */
let instance: string;
beforeEach(async () => {
  instance = await world.addInstance();
});

const GROUP = '120363012345678901@g.us';

const setSent = (id: string, participant: string | null = null) =>
  world.database.message.updateMany({ where: { id: toUuid(id) }, data: { status: 'sent', participant } });

const send = (given: Send = {}, by = acceptor) => world.send(by, { instance, ...given });

describe('an accepted message', () => {
  test('is queued with all its rows, and its engine is notified', async () => {
    const { message, replayed } = await send({ to: '551188887777', text: 'Olá' });
    expect(replayed).toBe(false);
    expect(message).toMatchObject({
      status: 'queued',
      to: '551188887777',
      type: 'text',
      wa_message_id: null,
    });
    expect(message).not.toHaveProperty('scheduled_for');
    const id = toUuid(message.id);
    const row = await world.database.message.findUniqueOrThrow({ where: { id } });
    expect(row.waMessageId).toMatch(/^3EB0[0-9A-F]{18}$/);
    expect(row.createdAt.toISOString()).toBe(message.created_at);
    const entry = await world.database.outboxEntry.findUniqueOrThrow({ where: { messageId: id } });
    expect(entry).toMatchObject({ state: 'waiting', head: true, seq: 1n, prepared: true });
    const content = await world.database.messageContent.findUniqueOrThrow({ where: { messageId: id } });
    const opened = world.sealer.openJson(instance, 'message_contents.content_sealed', content.contentSealed);
    expect(opened).toEqual({ type: 'text', text: { body: 'Olá' } });
    const stream = await world.redis.xRange(world.keys.sends(instance), '-', '+');
    expect(stream!.map((entry) => entry.message)).toEqual([{ m: id }]);
  });

  test('to another form of the same phone joins the same conversation', async () => {
    const first = await send({ to: '551191112222' });
    const second = await send({ to: '5511991112222@s.whatsapp.net' });
    const rows = await world.database.outboxEntry.findMany({
      where: { messageId: { in: [first, second].map(({ message }) => toUuid(message.id)) } },
      orderBy: { seq: 'asc' },
    });
    expect(new Set(rows.map((row) => row.conversationId)).size).toBe(1);
    expect(rows.map((row) => [row.seq, row.head])).toEqual([
      [1n, true],
      [2n, false],
    ]);
  });

  test('to a group has a conversation without a contact', async () => {
    const { message } = await send({ to: '120363012345678901@g.us' });
    const row = await world.database.message.findUniqueOrThrow({ where: { id: toUuid(message.id) } });
    const conversation = await world.database.conversation.findUniqueOrThrow({
      where: { id: row.conversationId },
    });
    expect(conversation).toMatchObject({
      contactId: null,
      groupId: '120363012345678901@g.us',
      firstSentAt: null,
    });
    await send({ to: '120363012345678901@g.us' });
  });

  test('is answered while Redis is unavailable', async () => {
    const unavailable = openRedis({
      url: 'redis://127.0.0.1:1',
      program: 'test',
      log: createLogger('test', 'error', { write: () => undefined }),
    });
    const alone = world.acceptor({ redis: unavailable });
    expect((await send({}, alone)).message.status).toBe('queued');
    closeRedis(unavailable);
  });
});

describe('refuses', () => {
  const refused = (given: Send, by?: Acceptor) => readOutcome(send(given, by));

  test('a malformed request', async () => {
    expect(await refused({ extra: { unknown: 1 } })).toBe('validation-error');
    expect(await refused({ extra: { text: undefined } })).toBe('invalid-message');
    expect(await refused({ to: '+5511999999999' })).toBe('invalid-phone');
    expect(await refused({ extra: { mentions: ['nobody'] } })).toBe('validation-error');
  });

  test('an unknown, foreign, deleted or malformed instance with the same 404', async () => {
    expect(await refused({ instance: newUuid() })).toBe('not-found');
    expect(await refused({ extra: { instance_id: 'ins_1' } })).toBe('not-found');
    const caller = { accountId: newUuid(), instances: null, suspended: false };
    const body = { instance_id: `ins_${instance.replaceAll('-', '')}`, to: '5511999999999', type: 'text' };
    const foreign = acceptor.accept(
      { body: { ...body, text: { body: 'x' } }, idempotencyKey: undefined },
      caller,
    );
    await expect(foreign).rejects.toMatchObject({ code: 'not-found' });
    await world.database.instance.update({ where: { id: instance }, data: { deletedAt: new Date() } });
    expect(await refused({})).toBe('not-found');
  });

  test('another account without changing the contacts of the owner', async () => {
    const otherAccount = newUuid();
    await world.database.account.create({ data: { id: otherAccount, name: otherAccount } });
    const theirs = newUuid();
    const to = someone();
    await world.database.contact.create({ data: { id: theirs, accountId: otherAccount } });
    await world.database.contactName.create({
      data: { accountId: otherAccount, name: to, contactId: theirs },
    });
    await send();
    const caller = { accountId: otherAccount, instances: null, suspended: false };
    const body = {
      instance_id: `ins_${instance.replaceAll('-', '')}`,
      to,
      type: 'text',
      text: { body: 'x' },
    };
    await expect(acceptor.accept({ body, idempotencyKey: undefined }, caller)).rejects.toMatchObject({
      code: 'not-found',
    });
    await send({ to });
    const conversations = await world.database.conversation.findMany({ where: { instanceId: instance } });
    expect(conversations.map(({ contactId }) => contactId)).toContain(await findContactId(world, to));
    expect(conversations.map(({ contactId }) => contactId)).not.toContain(theirs);
  });

  test('a contact that was moved to another account', async () => {
    const otherAccount = newUuid();
    await world.database.account.create({ data: { id: otherAccount, name: otherAccount } });
    const to = someone();
    const elsewhere = await world.addInstance();
    await send({ to, instance: elsewhere });
    const contactId = await findContactId(world, to);
    await optOut(world, contactId);
    expect(await refused({ to })).toBe('contact-opted-out');
    await world.database.optOut.deleteMany({ where: { contactId } });
    await world.database.contact.update({ where: { id: contactId }, data: { accountId: otherAccount } });
    expect(await refused({ to })).toBe('internal-error');
    expect(await world.database.conversation.count({ where: { instanceId: instance, contactId } })).toBe(0);
  });

  test('a quote of another instance, of an unsent message or of another conversation', async () => {
    const to = someone();
    const quote = (by: Send, id = queued.message.id) => refused({ ...by, extra: { reply_to: id } });
    const queued = await send({ to });
    expect(await quote({ to })).toBe('invalid-reply-to');
    expect(await quote({ to }, `msg_${'0'.repeat(32)}`)).toBe('invalid-reply-to');
    expect(await quote({ to }, 'nothing')).toBe('invalid-reply-to');
    await setSent(queued.message.id);
    expect(await quote({ to })).toBe('accepted');
    expect(await quote({ to: `${to}@s.whatsapp.net` })).toBe('accepted');
    await send({ to: someone() });
    expect(await quote({ to: someone() })).toBe('invalid-reply-to');
    expect(await quote({ to: GROUP })).toBe('invalid-reply-to');
    expect(await quote({ to, instance: await world.addInstance() })).toBe('invalid-reply-to');
  });

  test('a quote of a group, except in the group or to the author in private', async () => {
    const [author, other] = [someone(), someone()];
    const { message } = await send({ to: GROUP });
    await setSent(message.id, `${author}@s.whatsapp.net`);
    const quote = (to: string) => refused({ to, extra: { reply_to: message.id } });
    expect(await quote(author)).toBe('accepted');
    expect(await quote(author)).toBe('accepted');
    expect(await quote(GROUP)).toBe('accepted');
    expect(await quote(other)).toBe('invalid-reply-to');
    expect(await quote('120363012345678902@g.us')).toBe('invalid-reply-to');
    // The author by another id of the same contact.
    const lid = `${author}0@lid`;
    const contactId = await findContactId(world, author);
    await world.database.contactName.create({ data: { accountId: world.accountId, name: lid, contactId } });
    await setSent(message.id, lid);
    expect(await quote(author)).toBe('accepted');
    await setSent(message.id, null);
    expect(await quote(other)).toBe('accepted');
  });

  test('a send right after its account was suspended', async () => {
    const where = { id: world.accountId };
    await world.database.account.update({ where, data: { suspendedAt: new Date() } });
    expect(await refused({})).toBe('account-suspended');
    await world.database.account.update({ where, data: { suspendedAt: null } });
    expect(await refused({})).toBe('accepted');
  });

  test('an opted-out contact by any of its names', async () => {
    await send({ to: '5511977776666' });
    await optOut(world, await findContactId(world, '5511977776666'));
    expect(await refused({ to: '551177776666' })).toBe('contact-opted-out');
  });

  test('a send outside active hours, unless the policy schedules it', async () => {
    // Active hours of one minute, twelve hours away.
    const clock = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
    const hours = { start: clock(12), end: clock(12.02), timezone: 'UTC' };
    const set = (outside: string) =>
      world.database.instance.update({
        where: { id: instance },
        data: { policy: { active_hours: { ...hours, outside } } },
      });
    await set('reject');
    expect(await refused({})).toBe('policy-outside-hours');
    await set('schedule');
    const { message } = await send();
    expect(message.status).toBe('queued');
    expect(message.scheduled_for?.slice(11, 16)).toBe(hours.start);
    const entry = await world.database.outboxEntry.findUniqueOrThrow({
      where: { messageId: toUuid(message.id) },
    });
    expect(entry).toMatchObject({ state: 'scheduled', seq: null, head: false });
    expect(entry.releaseAt?.toISOString()).toBe(message.scheduled_for);
    expect(await world.redis.xLen(world.keys.sends(instance))).toBe(0);
  });
});

describe('Idempotency-Key', () => {
  const key = () => newUuid();

  test('replays a repeat with another order of fields', async () => {
    const given = { key: key(), to: someone() };
    const first = await send(given);
    const repeat = await send({ ...given, extra: { text: { preview_url: undefined, body: 'hello' } } });
    expect(repeat).toMatchObject({ body: first.body, replayed: true });
  });

  test('refuses another body with the same key', async () => {
    const given = { key: key(), to: someone() };
    await send(given);
    expect(await readOutcome(send({ ...given, text: 'other' }))).toBe('idempotency-key-reused');
  });

  test('is 1 to 255 characters', async () => {
    expect(await readOutcome(send({ key: '' }))).toBe('invalid-idempotency-key');
    expect(await readOutcome(send({ key: 'k'.repeat(256) }))).toBe('invalid-idempotency-key');
    expect(await readOutcome(send({ key: 'k'.repeat(255) }))).toBe('accepted');
  });

  test('stays free after a refused request', async () => {
    const given = { key: key(), to: '5511966665555' };
    await send({ to: given.to });
    await optOut(world, await findContactId(world, given.to));
    expect(await readOutcome(send(given))).toBe('contact-opted-out');
    await world.database.optOut.deleteMany({});
    expect(await send(given)).toMatchObject({ replayed: false });
  });

  test('is free again after 24 hours', async () => {
    const given = { key: key(), to: someone() };
    const first = await send(given);
    await world.database.idempotencyRecord.updateMany({
      where: { id: makeRecordId({ accountId: world.accountId, route: SEND_ROUTE, key: given.key }) },
      data: { expiresAt: new Date(Date.now() - 1000) },
    });
    const second = await send({ ...given, text: 'other' });
    expect(second.replayed).toBe(false);
    expect(second.message.id).not.toBe(first.message.id);
    expect(await send({ ...given, text: 'other' })).toMatchObject({ replayed: true });
  });

  test('creates one message from 200 concurrent requests at two replicas', async () => {
    const other = world.acceptor();
    const given = { key: key(), to: someone() };
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, i) => send(given, i % 2 ? acceptor : other)),
    );
    expect(new Set(all.map(({ body }) => body)).size).toBe(1);
    expect(all.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await world.database.message.count({ where: { instanceId: instance } })).toBe(1);
  });

  test('accepts the other requests of a batch in which one in ten repeats a key', async () => {
    const other = world.acceptor();
    const shared = Array.from({ length: 4 }, key);
    const to = people(20);
    const all = await Promise.all(
      Array.from({ length: 400 }, (_, i) => {
        const repeats = i % 10 === 0;
        const given = repeats ? { key: shared[i % 4]!, to: to[0]! } : { key: key(), to: to[i % 20]! };
        return send(given, i % 3 ? acceptor : other);
      }),
    );
    const distinct = new Set(all.map(({ message }) => message.id));
    expect(all.filter(({ replayed }) => !replayed)).toHaveLength(distinct.size);
    expect(distinct.size).toBe(
      360 + new Set(all.filter((_, i) => i % 10 === 0).map(({ body }) => body)).size,
    );
    expect(await world.database.message.count({ where: { instanceId: instance } })).toBe(distinct.size);
  });

  test('fails only the request that Postgres cannot store', async () => {
    const given = Array.from({ length: 25 }, () => ({ key: key(), to: someone() }));
    const { to } = given[17]!;
    const { database } = world;
    await database.$executeRawUnsafe(`ALTER TABLE messages ADD CONSTRAINT refuses CHECK ("to" <> '${to}')`);
    const outcomes = await Promise.all(given.map((one) => readOutcome(send(one))));
    await database.$executeRawUnsafe('ALTER TABLE messages DROP CONSTRAINT refuses');
    expect(outcomes.filter((outcome) => outcome !== 'accepted')).toHaveLength(1);
    expect(outcomes[17]).not.toBe('accepted');
  });
});
