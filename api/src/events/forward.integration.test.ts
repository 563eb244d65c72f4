import { setTimeout as sleep } from 'node:timers/promises';
import type { EventType } from '@gwk/core/events';
import { fromPublicId, lowestUuidAt, newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import { EVENT_DATA } from '@gwk/core/resources/event-data';
import { problemCode, WebhookStage } from '@gwk/test/support/api/webhook-stage';
import type { ApiClient } from '@gwk/test/support/api/client';
import type { TestAccount } from '@gwk/test/support/api/test-api';
import { openStream, type OpenStream } from '@gwk/test/support/sse';
import { until } from '@gwk/test/support/wait';
import type { Queryable } from '../database/database.js';
import type { EventOut } from '../resources/event.js';
import { makeExample } from '../openapi/examples.js';
import { SchemaBook } from '../openapi/schema-book.js';
import { emit } from './emit.js';
import { MAX_OWN_STREAMS } from './feed.js';

/** GET /v1/events with `after`, and GET /v1/events/stream. */
let stage: WebhookStage;
let account: TestAccount;
let client: ApiClient;
let key: string;
let keyId: string;
let instance: string;
const streams: OpenStream[] = [];

beforeAll(async () => {
  stage = await WebhookStage.shared();
});
beforeEach(async () => {
  account = await stage.api.account();
  ({ key, id: keyId } = await stage.api.key(account));
  client = stage.api.client(key);
  instance = await newInstance();
});
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close();
});

async function newInstance(): Promise<string> {
  const body = { name: `i${Math.random()}`, kind: 'web' };
  return fromPublicId(
    'instance',
    (await client.call<{ id: string }>('POST', '/v1/instances', { body })).body.id,
  )!;
}

const book = new SchemaBook();
/** Data that is valid for the type. */
const sampleData = (type: EventType) =>
  makeExample(book.add(EVENT_DATA[type], 'output'), book) as Record<string, unknown>;

interface Draft {
  type?: EventType;
  instanceId?: string | null;
  text?: string;
  id?: string;
}

/** Writes an event in a transaction, and returns its public id. */
async function write(tx: Queryable, { type = 'message.sent', instanceId = instance, text, id }: Draft = {}) {
  const draft = {
    accountId: account.id,
    instanceId,
    type,
    data: { ...sampleData(type), ...(text && { text }) },
    ...(id && { id }),
  };
  const [written] = await emit(tx, stage.world.sealer, [draft]);
  return toPublicId('event', written!);
}
/** Also waits until it can be read: transactions of other tests on this server may have begun before. */
async function add(draft: Draft = {}): Promise<string> {
  const id = await write(stage.world.db, draft);
  const { position } = await stage.world.db.event.findUniqueOrThrow({
    where: { id: fromPublicId('event', id)! },
  });
  await until(
    async () => {
      const [row] = await stage.world.db.$queryRaw<
        { horizon: bigint }[]
      >`SELECT gwk_event_horizon() AS horizon`;
      return row!.horizon > position;
    },
    { what: 'earlier transactions have ended' },
  );
  return id;
}

interface Forward extends Page<EventOut> {
  next_cursor: string;
  has_more: boolean;
}
const read = async (query: Record<string, string>, who = client) =>
  (await who.call<Forward>('GET', '/v1/events', { query })).body;
const idsOf = ({ data }: Forward) => data.map(({ id }) => id);

const LARGE = 'x'.repeat(60_000);

describe('forward', () => {
  test('reads the oldest first, in pages, and goes on with what comes later', async () => {
    const ids = [await add(), await add(), await add()];
    const first = await read({ after: 'oldest', limit: '2' });
    expect([idsOf(first), first.has_more]).toEqual([ids.slice(0, 2), true]);
    const second = await read({ after: first.next_cursor, limit: '2' });
    expect([idsOf(second), second.has_more]).toEqual([ids.slice(2), false]);
    const fourth = await add();
    const third = await read({ after: second.next_cursor });
    expect([idsOf(third), third.has_more]).toEqual([[fourth], false]);
    expect(third.data[0]).toEqual((await client.call('GET', `/v1/events/${fourth}`)).body);
    expect(idsOf(await read({ after: third.next_cursor }))).toEqual([]);
  });

  test('begins at the end', async () => {
    await add();
    const { data, next_cursor: after } = await read({ after: 'now' });
    expect(data).toEqual([]);
    const later = await add();
    expect(idsOf(await read({ after }))).toEqual([later]);
  });

  test('passes no event whose transaction commits after that of a later one', async () => {
    const { next_cursor: after } = await read({ after: 'now' });
    const written = Promise.withResolvers<string>();
    const commit = Promise.withResolvers<void>();
    const slow = stage.world.db.$transaction(async (tx) => {
      written.resolve(await write(tx));
      await commit.promise;
    });
    const early = await written.promise;
    const late = await write(stage.world.db);
    const during = await read({ after });
    expect([idsOf(during), during.has_more]).toEqual([[], false]);
    commit.resolve();
    await slow;
    await add();
    expect(idsOf(await read({ after: during.next_cursor })).slice(0, 2)).toEqual([early, late]);
  });

  test('reads each event once while twenty transactions commit in any order', async () => {
    let { next_cursor: after } = await read({ after: 'now' });
    const written: string[] = [];
    const writers = Array.from({ length: 20 }, async (_, writer) => {
      for (let n = 0; n < 10; n++)
        await stage.world.db.$transaction(async (tx) => {
          const ids = [await write(tx)];
          await sleep((writer * 7 + n * 3) % 20);
          ids.push(await write(tx));
          written.push(...ids);
        });
    });
    let isOver = false;
    const writing = Promise.all(writers).finally(() => (isOver = true));
    const seen: string[] = [];
    for (let last = false; !last;) {
      last = isOver;
      const page = await read({ after, limit: '50' });
      seen.push(...idsOf(page));
      after = page.next_cursor;
      if (page.has_more) last = false;
    }
    await writing;
    const end = await add();
    seen.push(...idsOf(await read({ after, limit: '200' })).filter((id) => id !== end));
    expect(seen.toSorted()).toEqual(written.toSorted());
  });

  test('has the filters of the list', async () => {
    const other = await newInstance();
    await add({ instanceId: null });
    const mine = await add({ type: 'instance.connected' });
    const theirs = await add({ instanceId: other });
    expect(idsOf(await read({ after: 'oldest', type: 'instance.connected' }))).toEqual([mine]);
    const instance_id = toPublicId('instance', other);
    expect(idsOf(await read({ after: 'oldest', instance_id }))).toEqual([theirs]);
    const restricted = await stage.api.clientOf(account, { instances: [other] });
    expect(idsOf(await read({ after: 'oldest' }, restricted))).toEqual([theirs]);
    expect(
      idsOf(await read({ after: 'oldest', since: new Date(Date.now() + 60_000).toISOString() })),
    ).toEqual([]);
  });

  test('ends a page before its events become large, and looks beyond many that do not match', async () => {
    const large = [
      await add({ type: 'message.received', text: LARGE }),
      await add({ type: 'message.received', text: LARGE }),
    ];
    large.push(await add({ type: 'message.received', text: LARGE }));
    const page = await read({ after: 'oldest' });
    expect([idsOf(page), page.has_more]).toEqual([large.slice(0, 2), true]);
    expect(idsOf(await read({ after: page.next_cursor }))).toEqual(large.slice(2));
    await stage.world.db.$executeRaw`
      INSERT INTO events (id, account_id, type, "timestamp", data_sealed)
      SELECT gwk_new_id(), ${account.id}::uuid, 'message.sent', now(), '' FROM generate_series(1, 12000)`;
    const rare = await add({ type: 'instance.banned' });
    expect(idsOf(await read({ after: 'oldest', type: 'instance.banned' }))).toEqual([rare]);
  });

  test('reads an event whose id is up to a day older than that of an earlier one', async () => {
    const first = await add();
    const { next_cursor: after } = await read({ after: 'oldest' });
    const id = lowestUuidAt(Date.now() - 80_000_000).slice(0, 14) + newUuid().slice(14);
    const second = await add({ id });
    expect(idsOf(await read({ after }))).toEqual([second]);
    expect(idsOf(await read({ after: 'oldest' }))).toEqual([first, second]);
  });

  test('waits for an event, and answers without one after the time', async () => {
    const { next_cursor: after } = await read({ after: 'now' });
    const began = performance.now();
    const waiting = read({ after, wait: '30' });
    await sleep(300);
    const id = await add();
    expect(idsOf(await waiting)).toEqual([id]);
    expect(performance.now() - began).toBeLessThan(15_000);
    const none = await read({ after: (await read({ after })).next_cursor, wait: '1' });
    expect([none.data, none.has_more]).toEqual([[], false]);
  });

  test('a request that waits ends with its key', async () => {
    const { next_cursor: after } = await read({ after: 'now' });
    const waiting = client.call('GET', '/v1/events', { query: { after, wait: '30' } });
    await sleep(300);
    await stage.api.db.apiKey.update({ where: { id: keyId }, data: { revokedAt: new Date() } });
    await sleep(2_000);
    await add();
    expect(problemCode(await waiting)).toBe('unauthorized');
  });

  test('a request that waits shows no more than its key may read at the end', async () => {
    const other = await newInstance();
    const restricted = await stage.api.key(account, { instances: [instance, other] });
    const { next_cursor: after } = await read({ after: 'now' });
    const waiting = read({ after, wait: '30' }, stage.api.client(restricted.key));
    await sleep(300);
    await stage.api.db.apiKeyInstance.deleteMany({
      where: { apiKeyId: restricted.id, instanceId: other },
    });
    await sleep(2_000);
    await add({ instanceId: other });
    await sleep(600);
    const mine = await add();
    expect(idsOf(await waiting)).toEqual([mine]);
  });

  test('refuses foreign cursors and impossible combinations', async () => {
    const { next_cursor: mine } = await read({ after: 'now' });
    const foreign = await stage.api.clientOf(await stage.api.account());
    const codeOf = async (query: Record<string, string>, who = client) =>
      problemCode(await who.call('GET', '/v1/events', { query }));
    expect(await codeOf({ after: mine }, foreign)).toBe('invalid-cursor');
    for (const after of ['', 'x', `${mine}x`]) expect(await codeOf({ after })).toBe('invalid-cursor');
    expect(await codeOf({ after: mine, cursor: 'x' })).toBe('validation-error');
    expect(await codeOf({ wait: '1' })).toBe('validation-error');
    expect(await codeOf({ after: mine, wait: '31' })).toBe('validation-error');
    expect(await codeOf({ after: mine, instance_id: 'ins_none' })).toBe('not-found');
  });
});

describe('stream', () => {
  async function open(query = '', headers: Record<string, string> = {}, apiKey = key): Promise<OpenStream> {
    const url = `http://127.0.0.1:${stage.api.port}/v1/events/stream${query}`;
    const stream = openStream(url, { authorization: `Bearer ${apiKey}`, ...headers });
    streams.push(stream);
    await until(() => stream.state.status !== 0, { what: 'the stream has begun' });
    if (stream.state.status === 200) await until(() => stream.state.lastId, { what: 'its place' });
    return stream;
  }
  const names = ({ events }: OpenStream) => events.map(({ data }) => data['id']);
  const arrives = (stream: OpenStream, ids: string[]) =>
    until(() => stream.events.length >= ids.length, { what: 'the events arrive' }).then(() =>
      expect(names(stream)).toEqual(ids),
    );

  test('sends events as they happen, and goes on after the last id', async () => {
    await add();
    const stream = await open();
    const first = await add({ type: 'instance.connected' });
    await arrives(stream, [first]);
    expect(stream.events[0]!.event).toBe('instance.connected');
    expect(stream.events[0]!.data).toEqual((await client.call('GET', `/v1/events/${first}`)).body);
    stream.close();
    const missed = await add();
    const again = await open('', { 'last-event-id': stream.state.lastId! });
    await arrives(again, [missed]);
    const idle = await open('', { 'last-event-id': again.events[0]!.id! });
    const next = await add();
    await arrives(idle, [next]);
    expect(idsOf(await read({ after: again.events[0]!.id! }))).toEqual([next]);
  });

  test('has the filters of the list, and those of a restricted key', async () => {
    const other = await newInstance();
    const restricted = await stage.api.key(account, { instances: [other] });
    const byType = await open('?type=instance.banned&after=oldest');
    const byInstance = await open(`?instance_id=${toPublicId('instance', other)}`);
    const byKey = await open('?after=oldest', {}, restricted.key);
    const mine = await add({ type: 'instance.banned' });
    const theirs = await add({ instanceId: other });
    await arrives(byType, [mine]);
    await arrives(byInstance, [theirs]);
    await arrives(byKey, [theirs]);
  });

  test('ends when its key may no longer read, and sends nothing more', async () => {
    const stream = await open();
    await stage.api.db.apiKey.update({ where: { id: keyId }, data: { revokedAt: new Date() } });
    await sleep(2_000);
    await add();
    await until(() => stream.state.ended, { what: 'the stream ends' });
    expect(stream.events).toEqual([{ event: 'end', data: { reason: 'access_ended' } }]);
  });

  test('bounds the streams of a key, and counts them until they end', async () => {
    for (let n = 0; n < MAX_OWN_STREAMS; n++) await open();
    const { headers, status } = (await open()).state;
    expect([status, headers['retry-after']]).toEqual([429, '10']);
    streams.pop();
    streams.pop()!.close();
    await until(async () => (await open()).state.status === 200, { what: 'there is room' });
  });

  test('shows the code of a QR only to keys that may pair', async () => {
    const reader = await stage.api.key(account, { scopes: ['events:read'] });
    const [mine, theirs] = [await open(), await open('', {}, reader.key)];
    const id = await add({ type: 'instance.qr' });
    await arrives(mine, [id]);
    await arrives(theirs, [id]);
    const dataOf = ({ events }: OpenStream) => (events[0]!.data as { data: object }).data;
    expect(dataOf(mine)).toHaveProperty('code');
    expect(dataOf(theirs)).not.toHaveProperty('code');
    const { data } = await read({ after: 'oldest' }, stage.api.client(reader.key));
    expect(data[0]!.data).not.toHaveProperty('code');
  });

  test('refuses a foreign place and an unknown instance', async () => {
    expect((await open('?after=x')).state.status).toBe(400);
    expect((await open('', { 'last-event-id': 'x' })).state.status).toBe(400);
    expect((await open('?instance_id=ins_none')).state.status).toBe(404);
    const path = '/v1/events/stream';
    expect(problemCode(await client.call('GET', path, { query: { after: 'x' } }))).toBe('invalid-cursor');
  });
});
