import type { Acceptor } from '../../messages/send/acceptor.js';
import { newUuid, toPublicId } from '@gwk/core/ids';
import { createWorld, type World } from '@gwk/test/support/api/acceptance';

let world: World;
let acceptor: Acceptor;
beforeAll(async () => {
  world = await createWorld(0);
  acceptor = world.acceptor({ policy: { new_contacts_per_day: 100_000 } });
});
afterEach(() => world.database.outboxEntry.deleteMany());
afterAll(() => world.close());

/** Claims at most `limit` messages, 4 for each account, for an hour. */
const claimRows = (busy: Record<string, number> = {}, limit = 8) =>
  world.database.$queryRaw<{ message_id: string; account_id: string }[]>`
    SELECT * FROM gwk_claim_preparations(${limit}::integer, 4, 3600000,
      ${Object.keys(busy)}::uuid[], ${Object.values(busy)}::integer[])`;

async function account(): Promise<string> {
  const id = newUuid();
  await world.database.account.create({ data: { id, name: id } });
  return id;
}

/** Adds an instance with messages to prepare. */
async function queue(accountId: string, messages: number): Promise<void> {
  const instance = await world.addInstance({ accountId });
  for (let i = 0; i < messages; i++) {
    const text = { body: `https://example.com/${i}`, preview_url: true };
    const body = { instance_id: toPublicId('instance', instance), to: '5511999990001', type: 'text', text };
    await acceptor.accept(
      { body, idempotencyKey: undefined },
      { accountId, instances: null, suspended: false },
    );
  }
}

async function claim(busy?: Record<string, number>, limit?: number): Promise<Record<string, number>> {
  const claimed = await claimRows(busy, limit);
  const amounts: Record<string, number> = {};
  for (const { account_id: id } of claimed) amounts[id] = (amounts[id] ?? 0) + 1;
  return amounts;
}

test('limits an account to its share over all its instances', async () => {
  const greedy = await account();
  await queue(greedy, 5);
  await queue(greedy, 5);
  expect(await claim()).toEqual({ [greedy]: 4 });
  expect(await claim({ [greedy]: 4 })).toEqual({});
  expect(await claim({ [greedy]: 3 })).toEqual({ [greedy]: 1 });
});

test('gives a free slot to the account with the fewest running preparations', async () => {
  const [greedy, modest] = [await account(), await account()];
  await queue(greedy, 10);
  await queue(modest, 1);
  expect(await claim({ [greedy]: 3 }, 1)).toEqual({ [modest]: 1 });
  expect(await claim({ [greedy]: 3 }, 1)).toEqual({ [greedy]: 1 });
});

test('claims the oldest messages first, and each once', async () => {
  const one = await account();
  await queue(one, 6);
  const ids = (
    await world.database.message.findMany({ where: { accountId: one }, orderBy: { id: 'asc' } })
  ).map(({ id }) => id);
  const [first, second] = [await claimRows(), await claimRows()];
  expect([...first, ...second].map(({ message_id }) => message_id)).toEqual(ids);
});
