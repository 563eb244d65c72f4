import { lowestUuidAt, newUuid, parseUuidTime } from '@gwk/core/ids/ids';
import { createWorld, someone, toUuid, type World } from '@gwk/test/support/api/acceptance';
import { dayThatLasts } from '@gwk/test/support/servers/midnight';
import { OpenedPartitions, partitionAt } from '@gwk/test/support/api/opened-partitions';
import type { Caller } from '../accounts/caller.js';
import type { Acceptor } from './send/acceptor.js';
import { listMessages } from './list.js';

/**
 * A conversation stores the days of its messages, and its lists read only these partitions. A superfluous day costs one
 * lookup; a missing day would hide messages.
 */
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DAYS = 90;
await dayThatLasts();
const today = Math.floor(Date.now() / DAY);
const date = (day: number) => new Date(day * DAY).toISOString();

let world: World;
let opened: OpenedPartitions;
let instance: string;
let acceptor: Acceptor;
beforeAll(async () => {
  world = await createWorld(0);
  acceptor = world.acceptor();
  await world.database.$queryRaw`
    SELECT gwk_ensure_partitions('messages', ${date(today - DAYS)}::date, ${date(today + 1)}::date)::text`;
  opened = await OpenedPartitions.watch(world.database);
});
beforeEach(async () => {
  instance = await world.addInstance();
});
afterAll(async () => {
  await opened.close();
  await world.close();
});

const send = async (to: string, replica = acceptor) =>
  toUuid((await world.send(replica, { instance, to })).message.id);
const conversationWith = async (to: string) => {
  const { contactId } = await world.database.contactName.findFirstOrThrow({ where: { name: to } });
  return world.database.conversation.findFirstOrThrow({ where: { contactId, instanceId: instance } });
};
const setDays = (id: string, days: number[]) =>
  world.database.conversation.update({ where: { id }, data: { days } });
const daysWith = async (known: number[], more: number[]) => {
  const [row] = await world.database.$queryRaw<{ days: number[] }[]>`
    SELECT gwk_merge_days(${known}::integer[], ${more}::integer[]) AS days`;
  return row!.days;
};

async function listed(
  to: string,
  filters = {},
  page: { before?: string; limit?: number } = {},
): Promise<string[]> {
  const caller = { accountId: world.accountId, instances: null } as unknown as Caller;
  const rows = await listMessages(
    world.database,
    caller,
    { to, ...filters },
    { before: null, limit: 50, ...page },
  );
  return rows.map(({ id }) => id);
}

/** Sends messages and backdates their ids: one every `everyDays` days, newest first. */
async function sendOverDays(to: string, amount: number, everyDays: number): Promise<string[]> {
  const ids: string[] = [];
  for (let turn = 0; turn < amount; turn++) {
    const id = await send(to);
    const then = lowestUuidAt(Date.now() - turn * everyDays * DAY).slice(0, 14) + newUuid().slice(14);
    await world.database.$executeRaw`UPDATE messages SET id = ${then}::uuid WHERE id = ${id}::uuid`;
    ids.push(then);
  }
  const days = ids.map((id) => Math.floor(parseUuidTime(id) / DAY)).reverse();
  await setDays((await conversationWith(to)).id, [...new Set(days)]);
  return ids;
}

describe('a list with a phone', () => {
  const end = lowestUuidAt((today + 2) * DAY);
  const openedFor = (conversations: string[], high: string, low = lowestUuidAt(0), limit = 50) =>
    opened.by('SELECT * FROM gwk_messages_of_conversations($1, NULL, NULL, $2, $3, $4)', [
      conversations,
      low,
      high,
      limit,
    ]);

  test('reads only the partitions of its days, newest first, as many as the page needs', async () => {
    const to = someone();
    const ids = await sendOverDays(to, 10, 9);
    const partitions = ids.map((id) => partitionAt(parseUuidTime(id)));
    const { id } = await conversationWith(to);
    expect(await listed(to)).toEqual(ids);
    expect(await openedFor([id], end)).toEqual(partitions);
    expect(await openedFor([id], end, lowestUuidAt(0), 1)).toEqual(partitions.slice(0, 1));
    expect(await openedFor([id], ids[2]!, ids[5])).toEqual(partitions.slice(2, 6));
    expect(await openedFor([newUuid()], end)).toEqual([]);
  });

  test('reads many separate days', async () => {
    const to = someone();
    const ids = await sendOverDays(to, 40, 2);
    expect(await listed(to)).toEqual(ids);
  });

  test('reads only as many consecutive days as the page needs', async () => {
    const to = someone();
    const ids = await sendOverDays(to, 12, 1);
    const { id } = await conversationWith(to);
    expect(await listed(to)).toEqual(ids);
    const partitions = await openedFor([id], end, lowestUuidAt(0), 3);
    expect(partitions.sort()).toEqual(
      ids
        .slice(0, 3)
        .map((each) => partitionAt(parseUuidTime(each)))
        .sort(),
    );
  });

  test('pages through several instances with different days', async () => {
    const to = someone();
    const all = await sendOverDays(to, 6, 7);
    instance = await world.addInstance();
    all.push(...(await sendOverDays(to, 5, 11)));
    all.sort().reverse();
    expect(await listed(to)).toEqual(all);
    const pages = await listed(to, {}, { limit: 4 });
    while (pages.length < all.length)
      pages.push(...(await listed(to, {}, { limit: 4, before: pages.at(-1)! })));
    expect(pages).toEqual(all);
    expect(await listed(to, { status: 'read' })).toEqual([]);
  });
});

describe('the days of a conversation', () => {
  const daysOfIds = (ids: string[]) => [...new Set(ids.map((id) => Math.floor(parseUuidTime(id) / DAY)))];
  const daysOf = async (to: string) => (await conversationWith(to)).days;

  test('include the day of a new, an existing and a scheduled conversation', async () => {
    const [first, scheduled] = [someone(), someone()];
    const ids = [await send(first), await send(first)];
    expect([await daysOf(first), await listed(first)]).toEqual([daysOfIds(ids), ids.reverse()]);
    const clock = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString().slice(11, 16);
    const hours = { start: clock(12), end: clock(12.02), timezone: 'UTC', outside: 'schedule' };
    const policy = { active_hours: hours };
    await world.database.instance.update({ where: { id: instance }, data: { policy } });
    const id = await send(scheduled);
    expect([await daysOf(scheduled), await listed(scheduled)]).toEqual([daysOfIds([id]), [id]]);
  });

  test('stay sorted when days arrive out of order', async () => {
    const to = someone();
    await send(to);
    const { id } = await conversationWith(to);
    await setDays(id, [today - 3, today + 1]);
    await send(to);
    expect(await daysOf(to)).toEqual([today - 3, today, today + 1]);
    await send(to);
    expect(await daysOf(to)).toEqual([today - 3, today, today + 1]);
  });

  test('are unique and ascending', async () => {
    expect(await daysWith([], [today])).toEqual([today]);
    expect(await daysWith([today - 1], [today])).toEqual([today - 1, today]);
    expect(await daysWith([today - 1, today], [today - 2, today])).toEqual([today - 2, today - 1, today]);
    expect(await daysWith([today], [])).toEqual([today]);
  });

  test('lose days without a partition, once there are more days than partitions', async () => {
    const range = (from: number, until: number) => Array.from({ length: until - from }, (_, i) => from + i);
    const old = range(today - DAYS - 40, today);
    const known = await daysWith(old.slice(0, 15), old.slice(15));
    expect(known).toEqual(old);
    const full = old.slice(-(DAYS + 5));
    expect(await daysWith(full, [today])).toEqual(range(today - DAYS, today + 1));
    // A message of a day without a partition is stored in the default partition.
    const early = lowestUuidAt((today - DAYS - 3) * DAY);
    const id = await send(someone());
    await world.database.$executeRaw`UPDATE messages SET id = ${early}::uuid WHERE id = ${id}::uuid`;
    expect(await daysWith(full, [today])).toEqual(range(today - DAYS - 3, today + 1));
    await world.database.$executeRaw`DELETE FROM messages WHERE id = ${early}::uuid`;
    const far = range(1, 17);
    expect(await daysWith(far.slice(1), [1])).toEqual(far);
  });

  test('follow the ids that API processes create around midnight, independent of the clock of Postgres', async () => {
    let now = (today + 1) * DAY - HOUR;
    const nearMidnight = world.acceptor({ newMessageId: () => lowestUuidAt((now += HOUR / 12)) });
    const phones = [someone(), someone(), someone(), someone()];
    const sent = await Promise.all(
      Array.from({ length: 24 }, (_, turn) => send(phones[turn % 4]!, nearMidnight)),
    );
    expect(daysOfIds(sent).sort()).toEqual([today, today + 1]);
    for (const [place, to] of phones.entries()) {
      const ids = sent.filter((_, turn) => turn % 4 === place);
      expect(await listed(to)).toEqual(ids.sort().reverse());
    }
  });
});
