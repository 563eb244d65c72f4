import { fromPublicId, lowestUuidAt, newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { InstanceOut } from '../resources/instance.js';
import type { MessageOut } from '@gwk/core/resources/message';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

/** Lists of messages over months: many daily partitions, days without one, and messages that arrive meanwhile. */
const DAY = 86_400_000;
const PHONES = ['5511987650001', '5511987650002', '5511987650003'] as const;
const STATUSES = ['sent', 'read', 'failed'] as const;

interface Kept {
  id: string;
  instance: string;
  to: string;
  status: (typeof STATUSES)[number];
}

let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let instances: string[];
/** By instance and phone. */
const conversations = new Map<string, string>();
/** Newest first. */
let kept: Kept[] = [];

beforeAll(async () => {
  api = await openApi();
  account = await api.account();
  await api.db.account.update({ where: { id: account.id }, data: { requestsPerMinute: 1_000_000 } });
  client = await api.clientOf(account);
  instances = [];
  for (const name of ['um', 'dois', 'tres']) {
    const body = { name, kind: 'web' };
    instances.push((await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id);
  }
  for (const name of PHONES) await makeConversations(name);
  // 40 daily partitions. Older rows go to the default partition.
  await api.db.$queryRaw`SELECT gwk_ensure_partitions('messages', current_date - 40, current_date + 1)::text`;
  await keep(days().map((at, number) => row(at, number)));
});
afterAll(() => api.stop());

async function makeConversations(name: string): Promise<void> {
  const contact = await api.db.contact.create({ data: { id: newUuid(), accountId: account.id } });
  await api.db.contactName.create({ data: { accountId: account.id, name, contactId: contact.id } });
  for (const instance of instances) {
    const id = newUuid();
    const instanceId = fromPublicId('instance', instance)!;
    await api.db.conversation.create({ data: { id, instanceId, contactId: contact.id } });
    conversations.set(instance + name, id);
  }
}

/** Busy and quiet days, a future day of a fast clock, and days before all partitions. */
function days(): number[] {
  const now = Date.now();
  const times = Array.from(
    { length: 150 },
    (_, n) => now - 1_000 - ((n * n * 7919) % 39_000) * (DAY / 1_000),
  );
  const today = Array.from({ length: 20 }, (_, n) => now - 2_000 - n);
  return [...times, ...today, now + DAY / 2, now - 70 * DAY, now - 70 * DAY - 5];
}

const row = (at: number, number: number): Kept => ({
  id: lowestUuidAt(at).slice(0, 14) + newUuid().slice(14),
  instance: instances[(number * 5) % 3]!,
  to: PHONES[(number * 7 + (number >> 2)) % 3]!,
  status: STATUSES[(number >> 1) % 3]!,
});

async function keep(rows: Kept[]): Promise<void> {
  const at = new Date();
  await api.db.message.createMany({
    data: rows.map(({ id, instance, to, status }) => ({
      id,
      accountId: account.id,
      instanceId: fromPublicId('instance', instance)!,
      conversationId: conversations.get(instance + to)!,
      direction: 'outbound',
      to,
      type: 'text',
      status,
      createdAt: at,
      updatedAt: at,
      failedAt: status === 'failed' ? at : null,
    })),
  });
  await api.db.$executeRaw`
    UPDATE conversations v SET days = gwk_merge_days(v.days, r.days)
    FROM (
      SELECT m.conversation_id, array_agg(DISTINCT gwk_id_day(m.id)) AS days
      FROM messages m WHERE m.id = ANY (${rows.map(({ id }) => id)}::uuid[]) GROUP BY m.conversation_id
    ) AS r
    WHERE v.id = r.conversation_id`;
  kept = [...rows, ...kept].sort((a, b) => (a.id < b.id ? 1 : -1));
}

interface Filters {
  instance_id?: string;
  to?: string;
  status?: string;
  since?: string;
}

const fits =
  ({ instance_id, to, status, since }: Filters, seen: readonly string[]) =>
  (message: Kept): boolean =>
    seen.includes(message.instance) &&
    (instance_id === undefined || message.instance === instance_id) &&
    (to === undefined || message.to === to) &&
    (status === undefined || message.status === status) &&
    (since === undefined || message.id >= lowestUuidAt(Date.parse(since)));

/** Reads all pages in sequence. A message arrives before each page but the first. */
async function walk(who: ApiClient, filters: Filters, limit: number): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const query: Record<string, string> = { ...filters, limit: String(limit), ...(cursor && { cursor }) };
    const { body } = await who.call<Page<MessageOut>>('GET', '/v1/messages', { query });
    if (body.next_cursor !== null) expect(body.data).toHaveLength(limit);
    found.push(...body.data.map(({ id }) => id));
    cursor = body.next_cursor;
    if (cursor) await keep([row(Date.now() + DAY / 2 + 1_000, found.length)]);
  } while (cursor);
  return found;
}

/** All combinations of the filters. */
function combinations(): Filters[] {
  const choices: Filters[][] = [
    [{ instance_id: instances[1]! }],
    [{ to: PHONES[0] }],
    [{ status: 'failed' }, { status: 'read' }],
    [{ since: new Date(Date.now() - 12.3 * DAY).toISOString() }],
  ];
  return choices.reduce<Filters[]>(
    (all, values) => [{}, ...values].flatMap((value) => all.map((others) => ({ ...others, ...value }))),
    [{}],
  );
}

test('lists each message once, newest first, for all filter combinations, while others arrive', async () => {
  for (const filters of combinations()) {
    const expected = kept.filter(fits(filters, instances)).map(({ id }) => toPublicId('message', id));
    expect([filters, await walk(client, filters, 30)]).toEqual([filters, expected]);
  }
});

test.each([[1], [2], [3]])('lists each message once for a key restricted to %i instances', async (count) => {
  const seen = instances.slice(0, count);
  const restricted = await api.clientOf(account, {
    instances: seen.map((id) => fromPublicId('instance', id)!),
  });
  for (const filters of combinations().filter(({ instance_id: id }) => id === undefined)) {
    const expected = kept.filter(fits(filters, seen)).map(({ id }) => toPublicId('message', id));
    expect([filters, await walk(restricted, filters, 50)]).toEqual([filters, expected]);
  }
});

test('leaves no gap between pages of any size', async () => {
  for (const limit of [1, 2, 7, 199]) {
    const filters = { since: new Date(Date.now() - 1.2 * DAY).toISOString() };
    const expected = kept.filter(fits(filters, instances)).map(({ id }) => toPublicId('message', id));
    expect(await walk(client, filters, limit)).toEqual(expected);
  }
});
