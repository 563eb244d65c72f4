import { EVENT_TYPES, EVENTS, FILTERABLE_EVENT_TYPES, type EventType } from '@gwk/core/events';
import { fromPublicId, lowestUuidAt, newUuid, toPublicId } from '@gwk/core/ids';
import type { Page } from '@gwk/core/resources/common';
import type { EventOut } from '@gwk/core/resources/event';
import { problemCode, WebhookStage } from '@gwk/test/support/api/webhook-stage';
import type { TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';
import { emit } from './emit.js';

/** GET /v1/events and GET /v1/events/{event_id} (spec: Events; Limits: page size, event history). */
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

interface Given {
  type?: EventType;
  instanceId?: string | null;
  accountId?: string;
}

/** When the last event happened, in the past: each has a millisecond of its own. */
let moment = Date.now() - 60_000;
/** As one made at that time, but for its random part. */
const uuidAt = (time: number) => lowestUuidAt(time).slice(0, 14) + newUuid().slice(14);

/** Public ids, in the order given: each of its own transaction and millisecond. */
async function happened(...events: Given[]): Promise<string[]> {
  const ids: string[] = [];
  for (const { type = 'message.sent', instanceId = instance, accountId = account.id } of events) {
    moment += 1;
    const [eventId, at] = [uuidAt(moment), new Date(moment)];
    const draft = { id: eventId, accountId, instanceId, type, at, data: { number: ids.length } };
    const [id] = await stage.world.db.$transaction((tx) => emit(tx, stage.world.sealer, [draft]));
    ids.push(toPublicId('event', id!));
  }
  return ids;
}

const list = (query: Record<string, string> = {}, who = client) =>
  who.call<Page<EventOut>>('GET', '/v1/events', { query });
const idsOf = async (query: Record<string, string> = {}, who = client) =>
  (await list(query, who)).body.data.map(({ id }) => id);
const publicInstance = (uuid: string) => toPublicId('instance', uuid);

test('most recent first, each as it was told to webhooks', async () => {
  const ids = await happened({}, { type: 'instance.connected' }, { type: 'webhook.test', instanceId: null });
  const { body } = await list();
  expect(body.data.map(({ id }) => id)).toEqual([...ids].reverse());
  expect(body.next_cursor).toBeNull();
  expect(body.data.at(-1)).toEqual({
    id: ids[0],
    type: 'message.sent',
    instance_id: publicInstance(instance),
    timestamp: expect.any(String) as string,
    data: { number: 0 },
  });
  expect(body.data[0]!.instance_id).toBeNull();
  expect((await client.call('GET', `/v1/events/${ids[0]!}`)).body).toEqual(body.data.at(-1));
});

describe('filters', () => {
  test('type: every one of the list finds its own', async () => {
    const ids = await happened(...EVENT_TYPES.map((type) => ({ type })));
    for (const type of FILTERABLE_EVENT_TYPES) {
      expect([type, await idsOf({ type })]).toEqual([type, [ids[EVENT_TYPES.indexOf(type)]]]);
    }
  });

  test('contact events are in the list without a filter, and are no filter', async () => {
    const others = EVENT_TYPES.filter((type) => !EVENTS[type].filterable);
    const ids = await happened(...others.map((type) => ({ type })));
    expect(await idsOf()).toEqual([...ids].reverse());
    expect(others).toEqual(['contact.opted_out', 'contact.opted_in']);
    for (const type of others) expect(problemCode(await list({ type }))).toBe('validation-error');
  });

  test('instance_id: its own events, those of a deleted one too', async () => {
    const other = await newInstance();
    const [mine] = await happened({}, { instanceId: other }, { instanceId: null });
    const query = { instance_id: publicInstance(instance) };
    expect(await idsOf(query)).toEqual([mine]);
    await client.call('DELETE', `/v1/instances/${publicInstance(instance)}`);
    expect(await idsOf(query)).toContain(mine);
  });

  test('instance_id of another account, of nobody, and no id at all: not-found', async () => {
    const stranger = await stage.api.clientOf(await stage.api.account());
    const foreign = publicInstance(await newInstance(stranger));
    for (const id of [foreign, `ins_${'0'.repeat(32)}`, 'ins_1', 'nonsense']) {
      const answer = await list({ instance_id: id });
      expect([id, answer.status, problemCode(answer)]).toEqual([id, 404, 'not-found']);
    }
  });

  test('since: the event of that very millisecond is in', async () => {
    const ids = await happened({}, {}, {});
    const times = (await list()).body.data.map(({ timestamp }) => timestamp);
    expect(await idsOf({ since: times[1]! })).toEqual([ids[2], ids[1]]);
    const shifted = new Date(Date.parse(times[1]!) + 3 * 3_600_000).toISOString().replace('Z', '+03:00');
    expect(await idsOf({ since: shifted })).toEqual([ids[2], ids[1]]);
    expect(await idsOf({ since: '2999-01-01T00:00:00Z' })).toEqual([]);
    expect(await idsOf({ since: '0000-01-01T00:00:00+14:00' })).toHaveLength(3);
  });

  test('together', async () => {
    const other = await newInstance();
    const ids = await happened({}, { type: 'message.failed' }, { instanceId: other }, {});
    const query = { instance_id: publicInstance(instance), type: 'message.sent' };
    expect(await idsOf(query)).toEqual([ids[3], ids[0]]);
  });

  test.each([
    ['a type that is none', { type: 'message.lost' }],
    ['a time that is none', { since: 'yesterday' }],
    ['a page of 0 (Limits: page size)', { limit: '0' }],
    ['a page of 201 (Limits: page size)', { limit: '201' }],
    ['a page that is no number', { limit: 'many' }],
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

  test('of 200 (Limits: page size), and of 50 where nothing is said', async () => {
    const drafts = Array.from({ length: 201 }, (_, number) => ({
      ...{ accountId: account.id, instanceId: instance, type: 'message.sent' as const },
      ...{ at: new Date(), data: { number } },
    }));
    await stage.world.db.$transaction((tx) => emit(tx, stage.world.sealer, drafts));
    expect(await idsOf({ limit: '200' })).toHaveLength(200);
    expect(await idsOf()).toHaveLength(50);
    const all = await walk({ limit: '200' }, () => Promise.resolve());
    expect(new Set(all).size).toBe(201);
  });

  test('go on where they were while events arrive: each event that was there once, newest first', async () => {
    const before = await happened(...Array.from({ length: 40 }, () => ({})));
    const arrive = () => Promise.all([happened({}), happened({}, {}), happened({ type: 'message.failed' })]);
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

  test('belong to their filters, their account and their list', async () => {
    await happened({}, {}, {});
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
    // The size of a page may change.
    expect(await idsOf({ limit: '2', cursor, type: 'message.sent' })).toHaveLength(2);
  });
});

describe('a restricted key', () => {
  test('sees what concerns its instances, and nothing of the account as a whole', async () => {
    const other = await newInstance();
    const ids = await happened({}, { instanceId: other }, { type: 'webhook.test', instanceId: null });
    const restricted = await stage.api.clientOf(account, { instances: [instance] });
    expect(await idsOf({}, restricted)).toEqual([ids[0]]);
    expect(problemCode(await list({ instance_id: publicInstance(other) }, restricted))).toBe('not-found');
    const answers = await Promise.all(ids.map((id) => restricted.call('GET', `/v1/events/${id}`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 404]);
  });
});

test('an event of another account, of nobody, and an id that is none: not-found', async () => {
  const stranger = await stage.api.account();
  const [foreign] = await happened({ accountId: stranger.id, instanceId: null });
  for (const id of [foreign!, `evt_${'0'.repeat(32)}`, 'evt_1', `msg_${foreign!.slice(4)}`]) {
    const answer = await client.call('GET', `/v1/events/${id}`);
    expect([id, answer.status, problemCode(answer)]).toEqual([id, 404, 'not-found']);
  }
});
