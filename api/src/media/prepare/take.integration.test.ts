import type { Acceptor } from '../../messages/send/acceptor.js';
import { newUuid, toPublicId } from '@gwk/core/ids';
import { createWorld, type World } from '@gwk/test/support/api/acceptance';
import { takeUnprepared } from './take.js';

let world: World;
let acceptor: Acceptor;
beforeAll(async () => {
  world = await createWorld(0);
  acceptor = world.acceptor({ policy: { new_contacts_per_day: 100_000 } });
});
afterEach(() => world.database.outboxEntry.deleteMany());
afterAll(() => world.close());

const PLACES = { most: 8, perAccount: 4, holdMs: 3_600_000 };

async function account(): Promise<string> {
  const id = newUuid();
  await world.database.account.create({ data: { id, name: id } });
  return id;
}

/** An instance of the account, with messages that are to be prepared. */
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

async function take(busy: Record<string, number> = {}, most = PLACES.most): Promise<Record<string, number>> {
  const taken = await takeUnprepared(world.database, {
    ...PLACES,
    most,
    busy: new Map(Object.entries(busy)),
  });
  const amounts: Record<string, number> = {};
  for (const { account_id: id } of taken) amounts[id] = (amounts[id] ?? 0) + 1;
  return amounts;
}

test('an account has no more than its share, by however many instances it asks', async () => {
  const greedy = await account();
  await queue(greedy, 5);
  await queue(greedy, 5);
  expect(await take()).toEqual({ [greedy]: 4 });
  expect(await take({ [greedy]: 4 })).toEqual({});
  expect(await take({ [greedy]: 3 })).toEqual({ [greedy]: 1 });
});

test('a place that becomes free goes to who has fewest at work, not to the longest queue', async () => {
  const [greedy, modest] = [await account(), await account()];
  await queue(greedy, 10);
  await queue(modest, 1);
  expect(await take({ [greedy]: 3 }, 1)).toEqual({ [modest]: 1 });
  expect(await take({ [greedy]: 3 }, 1)).toEqual({ [greedy]: 1 });
});

test('the oldest of an account come first, and what is taken is not taken again', async () => {
  const one = await account();
  await queue(one, 6);
  const ids = (
    await world.database.message.findMany({ where: { accountId: one }, orderBy: { id: 'asc' } })
  ).map(({ id }) => id);
  const first = await takeUnprepared(world.database, { ...PLACES, busy: new Map() });
  const second = await takeUnprepared(world.database, { ...PLACES, busy: new Map() });
  expect([...first, ...second].map(({ message_id }) => message_id)).toEqual(ids);
});
