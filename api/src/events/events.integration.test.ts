import { EVENT_TYPES, EVENTS, FILTERABLE_EVENT_TYPES, type EventType } from '@gwk/core/events';
import { fromPublicId, lowestUuidAt, newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { EventOut } from '../resources/event.js';
import { EVENT_DATA } from '@gwk/core/resources/event-data';
import { problemCode, WebhookStage } from '@gwk/test/support/api/webhook-stage';
import type { TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';
import { makeExample } from '../openapi/examples.js';
import { SchemaBook } from '../openapi/schema-book.js';
import { emit, instanceEvent } from './emit.js';

/** GET /v1/events and GET /v1/events/{event_id}. */
let stage: WebhookStage;
let account: TestAccount;
let client: ApiClient;
let instance: string;

beforeAll(async () => {
  stage = await WebhookStage.shared();
});
beforeEach(async () => {
  account = await stage.api.account();
  client = await stage.api.clientOf(account);
  instance = await newInstance();
});

/** The UUID of a new instance of the account. */
async function newInstance(who = client): Promise<string> {
  const body = { name: `i${Math.random()}`, kind: 'web' };
  return fromPublicId(
    'instance',
    (await who.call<{ id: string }>('POST', '/v1/instances', { body })).body.id,
  )!;
}

const book = new SchemaBook();
/** Data that is valid for the type. */
const sampleData = (type: EventType) =>
  makeExample(book.add(EVENT_DATA[type], 'output'), book) as Record<string, unknown>;

interface EventOptions {
  type?: EventType;
  instanceId?: string | null;
  accountId?: string;
}

/** The time of the last event, in the past: each event has its own millisecond. */
let moment = Date.now() - 60_000;
/** An id of that time with a random part. */
const uuidAt = (time: number) => lowestUuidAt(time).slice(0, 14) + newUuid().slice(14);

/**
 * Creates events in the given order, each in its own transaction and millisecond, and returns their public
 * ids.
 */
async function createEvents(...events: EventOptions[]): Promise<string[]> {
  const ids: string[] = [];
  for (const { type = 'message.sent', instanceId = instance, accountId = account.id } of events) {
    moment += 1;
    const draft = { id: uuidAt(moment), accountId, instanceId, type, data: sampleData(type) };
    const [id] = await stage.world.db.$transaction((tx) => emit(tx, stage.world.sealer, [draft]));
    ids.push(toPublicId('event', id!));
  }
  return ids;
}

const list = (query: Record<string, string> = {}, who = client) =>
  who.call<Page<EventOut>>('GET', '/v1/events', { query });
const listIds = async (query: Record<string, string> = {}, who = client) =>
  (await list(query, who)).body.data.map(({ id }) => id);
const toInstanceId = (uuid: string) => toPublicId('instance', uuid);

test('lists newest first, each event as webhooks receive it', async () => {
  const ids = await createEvents(
    {},
    { type: 'instance.connected' },
    { type: 'webhook.test', instanceId: null },
  );
  const { body } = await list();
  expect(body.data.map(({ id }) => id)).toEqual([...ids].reverse());
  expect(body.next_cursor).toBeNull();
  expect(body.data.at(-1)).toEqual({
    id: ids[0],
    type: 'message.sent',
    instance_id: toInstanceId(instance),
    timestamp: expect.any(String) as string,
    data: sampleData('message.sent'),
  });
  expect(body.data[0]!.instance_id).toBeNull();
  expect((await client.call('GET', `/v1/events/${ids[0]!}`)).body).toEqual(body.data.at(-1));
});

test('the time of an event is that of its place in the list, whenever the change was', async () => {
  const before = Date.now();
  const subject = { accountId: account.id, instanceId: instance };
  const times = [2, 0, 1].map((seconds) => new Date(before - seconds * 1000));
  const drafts = times.map((at) => instanceEvent('instance.connected', subject, at, { jid: null }));
  for (const draft of drafts) await emit(stage.world.db, stage.world.sealer, [draft]);
  const { data } = (await list()).body;
  const listed = data.map(({ timestamp }) => timestamp);
  expect(listed).toEqual([...listed].sort().reverse());
  expect(Date.parse(listed.at(-1)!)).toBeGreaterThanOrEqual(before);
  expect(data.map((event) => event.data['timestamp'])).toEqual(times.map((at) => at.toISOString()).reverse());
  expect(await listIds({ since: listed[1]! })).toEqual(
    data.filter(({ timestamp }) => timestamp >= listed[1]!).map(({ id }) => id),
  );
});

describe('filters', () => {
  test('type: each filterable type finds its events', async () => {
    const ids = await createEvents(...EVENT_TYPES.map((type) => ({ type })));
    for (const type of FILTERABLE_EVENT_TYPES) {
      expect([type, await listIds({ type })]).toEqual([type, [ids[EVENT_TYPES.indexOf(type)]]]);
    }
  });

  test('contact events are listed without a filter, and are no filter', async () => {
    const others = EVENT_TYPES.filter((type) => !EVENTS[type].filterable);
    const ids = await createEvents(...others.map((type) => ({ type })));
    expect(await listIds()).toEqual([...ids].reverse());
    expect(others).toEqual(['contact.opted_out', 'contact.opted_in']);
    for (const type of others) expect(problemCode(await list({ type }))).toBe('validation-error');
  });

  test('instance_id: finds the events of the instance, also once it is deleted', async () => {
    const other = await newInstance();
    const [mine] = await createEvents({}, { instanceId: other }, { instanceId: null });
    const query = { instance_id: toInstanceId(instance) };
    expect(await listIds(query)).toEqual([mine]);
    await client.call('DELETE', `/v1/instances/${toInstanceId(instance)}`);
    expect(await listIds(query)).toContain(mine);
  });

  test('instance_id of another account, absent or malformed: not-found', async () => {
    const stranger = await stage.api.clientOf(await stage.api.account());
    const foreign = toInstanceId(await newInstance(stranger));
    for (const id of [foreign, `ins_${'0'.repeat(32)}`, 'ins_1', 'nonsense']) {
      const answer = await list({ instance_id: id });
      expect([id, answer.status, problemCode(answer)]).toEqual([id, 404, 'not-found']);
    }
  });

  test('since: includes events of that millisecond', async () => {
    const ids = await createEvents({}, {}, {});
    const times = (await list()).body.data.map(({ timestamp }) => timestamp);
    expect(await listIds({ since: times[1]! })).toEqual([ids[2], ids[1]]);
    const shifted = new Date(Date.parse(times[1]!) + 3 * 3_600_000).toISOString().replace('Z', '+03:00');
    expect(await listIds({ since: shifted })).toEqual([ids[2], ids[1]]);
    expect(await listIds({ since: '2999-01-01T00:00:00Z' })).toEqual([]);
    expect(await listIds({ since: '0000-01-01T00:00:00+14:00' })).toHaveLength(3);
  });

  test('type and instance_id combine', async () => {
    const other = await newInstance();
    const ids = await createEvents({}, { type: 'message.failed' }, { instanceId: other }, {});
    const query = { instance_id: toInstanceId(instance), type: 'message.sent' };
    expect(await listIds(query)).toEqual([ids[3], ids[0]]);
  });

  test.each([
    ['an unknown type', { type: 'message.lost' }],
    ['a malformed time', { since: 'yesterday' }],
    ['a page of 0', { limit: '0' }],
    ['a page of 201', { limit: '201' }],
    ['a page size that is not a number', { limit: 'many' }],
  ])('%s: validation-error', async (_label, query: Record<string, string>) => {
    const answer = await list(query);
    expect([answer.status, problemCode(answer)]).toEqual([422, 'validation-error']);
  });
});

describe('pages', () => {
  async function walk(query: Record<string, string>, meanwhile: () => Promise<unknown>): Promise<string[]> {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Page<EventOut> = (await list({ ...query, ...(cursor !== null && { cursor }) })).body;
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
      await meanwhile();
    } while (cursor !== null);
    return seen;
  }

  test('have at most 200 events, and 50 by default', async () => {
    const drafts = Array.from({ length: 201 }, () => ({
      ...{ accountId: account.id, instanceId: instance, type: 'message.sent' as const },
      ...{ at: new Date(), data: sampleData('message.sent') },
    }));
    await stage.world.db.$transaction((tx) => emit(tx, stage.world.sealer, drafts));
    expect(await listIds({ limit: '200' })).toHaveLength(200);
    expect(await listIds()).toHaveLength(50);
    const all = await walk({ limit: '200' }, () => Promise.resolve());
    expect(new Set(all).size).toBe(201);
  });

  test('continue while events arrive: each earlier event once, newest first', async () => {
    const before = await createEvents(...Array.from({ length: 40 }, () => ({})));
    const arrive = () =>
      Promise.all([createEvents({}), createEvents({}, {}), createEvents({ type: 'message.failed' })]);
    const writers = Promise.all([arrive(), arrive()]);
    const seen = await walk({ limit: '7' }, arrive);
    await writers;
    expect(seen.filter((id) => before.includes(id))).toEqual([...before].reverse());
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual([...seen].sort().reverse());
    const filtered = await walk({ limit: '7', type: 'message.sent' }, arrive);
    expect(filtered.filter((id) => before.includes(id))).toEqual([...before].reverse());
    expect(new Set(filtered).size).toBe(filtered.length);
  });

  test('reject cursors of other filters, accounts and lists', async () => {
    await createEvents({}, {}, {});
    const cursor = (await list({ limit: '1', type: 'message.sent' })).body.next_cursor!;
    const stranger = await stage.api.clientOf(await stage.api.account());
    const answers = [
      await list({ limit: '1', cursor }),
      await list({ limit: '1', cursor, type: 'message.failed' }),
      await list({ limit: '1', cursor, type: 'message.sent' }, stranger),
      await client.call('GET', '/v1/messages', { query: { cursor } }),
      await list({ cursor: 'nonsense' }),
      await list({ cursor: '' }),
    ];
    expect(answers.map((answer) => [answer.status, problemCode(answer)])).toEqual(
      answers.map(() => [400, 'invalid-cursor']),
    );
    // The page size may change.
    expect(await listIds({ limit: '2', cursor, type: 'message.sent' })).toHaveLength(2);
  });
});

describe('a restricted key', () => {
  test('sees the events of its instances, and none of the account as a whole', async () => {
    const other = await newInstance();
    const ids = await createEvents({}, { instanceId: other }, { type: 'webhook.test', instanceId: null });
    const restricted = await stage.api.clientOf(account, { instances: [instance] });
    expect(await listIds({}, restricted)).toEqual([ids[0]]);
    expect(problemCode(await list({ instance_id: toInstanceId(other) }, restricted))).toBe('not-found');
    const answers = await Promise.all(ids.map((id) => restricted.call('GET', `/v1/events/${id}`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 404]);
  });
});

test('an event of another account, absent or malformed: not-found', async () => {
  const stranger = await stage.api.account();
  const [foreign] = await createEvents({ accountId: stranger.id, instanceId: null });
  for (const id of [foreign!, `evt_${'0'.repeat(32)}`, 'evt_1', `msg_${foreign!.slice(4)}`]) {
    const answer = await client.call('GET', `/v1/events/${id}`);
    expect([id, answer.status, problemCode(answer)]).toEqual([id, 404, 'not-found']);
  }
});

test('splits a list of the largest events into pages of less than 1 MB, and the cursor leads to all', async () => {
  // A control character takes 6 bytes of JSON.
  const text = '\u0001'.repeat(65_536);
  const drafts = Array.from({ length: 12 }, (_, number) => {
    const [id, at] = [uuidAt((moment += 1)), new Date(moment)];
    const type = 'message.received' as const;
    const data = { ...sampleData(type), wa_message_id: String(number), text };
    return { id, accountId: account.id, instanceId: instance, type, at, data };
  });
  await stage.world.db.$transaction((tx) => emit(tx, stage.world.sealer, drafts));
  const pages: unknown[][] = [];
  let cursor: string | null = null;
  do {
    const { body }: { body: Page<EventOut> } = await list({
      limit: '200',
      ...(cursor !== null && { cursor }),
    });
    pages.push(body.data.map(({ data }) => Number(data['wa_message_id'])));
    cursor = body.next_cursor;
  } while (cursor !== null);
  expect(pages).toEqual([
    [11, 10],
    [9, 8],
    [7, 6],
    [5, 4],
    [3, 2],
    [1, 0],
  ]);
});
