import type { Acceptor } from '../../messages/send/acceptor.js';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { createWorld, toUuid, type World } from '@gwk/test/support/api/acceptance';

let world: World;
let acceptor: Acceptor;
beforeAll(async () => {
  world = await createWorld(0);
  acceptor = world.acceptor({ policy: { new_contacts_per_day: 100_000 } });
});
afterEach(() => world.database.outboxEntry.deleteMany());
afterAll(() => world.close());

interface Busy {
  accounts?: Record<string, number>;
  hosts?: Record<string, number>;
}

/** Claims at most `free` messages, two for each host, for an hour. */
const claimRows = (busy: Busy = {}, free = 8) =>
  world.database.$queryRaw<{ message_id: string; account_id: string }[]>`
    SELECT * FROM gwk_claim_preparations(${free}::integer, 2, 3600000, ${JSON.stringify(busy)}::jsonb)`;

async function account(): Promise<string> {
  const id = newUuid();
  await world.database.account.create({ data: { id, name: id } });
  return id;
}

/** Adds an instance with messages to prepare, each to another person. */
async function queue(accountId: string, messages: number, to?: string): Promise<string[]> {
  const instance = await world.addInstance({ accountId });
  const ids: string[] = [];
  for (let i = 0; i < messages; i++) {
    const text = { body: `https://example.com/${i}`, preview_url: true };
    const recipient = to ?? `551199999${String(1_000 + i)}`;
    const body = { instance_id: toPublicId('instance', instance), to: recipient, type: 'text', text };
    const { message } = await acceptor.accept(
      { body, idempotencyKey: undefined },
      { accountId, instances: null, suspended: false },
    );
    ids.push(toUuid(message.id));
  }
  return ids;
}

async function claim(busy?: Busy, free?: number): Promise<Record<string, number>> {
  const claimed = await claimRows(busy, free);
  const amounts: Record<string, number> = {};
  for (const { account_id: id } of claimed) amounts[id] = (amounts[id] ?? 0) + 1;
  return amounts;
}

test('an account leaves as many places free as it holds, over all its instances', async () => {
  const greedy = await account();
  await queue(greedy, 5);
  await queue(greedy, 5);
  expect(await claim()).toEqual({ [greedy]: 4 });
  expect(await claim({ accounts: { [greedy]: 4 } }, 4)).toEqual({});
  expect(await claim({ accounts: { [greedy]: 3 } }, 5)).toEqual({ [greedy]: 1 });
});

test('each further account finds a place', async () => {
  const accounts = await Promise.all([account(), account(), account()]);
  for (const id of accounts) await queue(id, 10);
  const [a, b, c] = accounts;
  expect(await claim({ accounts: { [a]: 4 } }, 4)).toEqual({ [b]: 1, [c]: 1 });
  expect(await claim({ accounts: { [a]: 4, [b]: 3 } }, 1)).toEqual({ [c]: 1 });
});

test('gives a free place to the account with the fewest running preparations', async () => {
  const [greedy, modest] = [await account(), await account()];
  await queue(greedy, 10);
  await queue(modest, 1);
  expect(await claim({ accounts: { [greedy]: 3 } }, 1)).toEqual({ [modest]: 1 });
  expect(await claim({ accounts: { [greedy]: 3 } }, 1)).toEqual({});
});

test('claims the oldest messages first, and each once', async () => {
  const ids = await queue(await account(), 6);
  const [first, second] = [await claimRows(), await claimRows()];
  expect([...first, ...second].map(({ message_id }) => message_id)).toEqual(ids);
});

test('messages accepted in the same millisecond keep their order', async () => {
  const ids = await queue(await account(), 4, '5511999980003');
  await world.database.outboxEntry.updateMany({
    where: { messageId: { in: ids } },
    data: { createdAt: new Date() },
  });
  expect((await claimRows({}, 20)).map(({ message_id }) => message_id)).toEqual(ids);
});

test('the first message of each conversation comes before the others, which take fewer places', async () => {
  const one = await account();
  const instance = await queue(one, 9, '5511999980001');
  const [other] = await queue(one, 1, '5511999980002');
  const claimed = (await claimRows({}, 12)).map(({ message_id }) => message_id);
  expect(claimed.slice(0, 2)).toEqual([instance[0], other]);
  expect(claimed).toEqual([instance[0], other, instance[1], instance[2]]);
});

test('leaves messages of a busy host for later', async () => {
  const one = await account();
  const ids = await queue(one, 6);
  await world.database.outboxEntry.updateMany({
    where: { messageId: { in: ids.slice(0, 4) } },
    data: { prepareHost: 'slow' },
  });
  const claimed = async (busy: Busy) => (await claimRows(busy, 20)).map(({ message_id }) => message_id);
  expect(await claimed({ hosts: { slow: 1 } })).toEqual([ids[0], ids[4], ids[5]]);
  expect(await claimed({ hosts: { slow: 2 } })).toEqual([]);
  expect(await claimed({})).toEqual([ids[1], ids[2]]);
});
