import { newUuid } from '@gwk/core/ids/ids';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { createInternalApiWorld, type InternalApiWorld } from '@gwk/test/support/api/internal-api';
import type { Queryable } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';
import { findByNetworkIds } from '../messages/list.js';
import { parseArrival } from './arrival.js';
import { gather } from './gather.js';

let internalApi: InternalApiWorld;
beforeAll(async () => {
  internalApi = await createInternalApiWorld();
});
afterAll(() => internalApi.close());

const CONTACTS = 1_500;
const ROLLED_BACK = 'rolled back';

/** Counts the rows of names fetched in this transaction. */
async function countFetched(tx: Queryable): Promise<number> {
  const [row] = await tx.$queryRaw<{ fetched: number }[]>`
    SELECT idx_tup_fetch::integer AS fetched FROM pg_stat_xact_user_tables WHERE relname = 'contact_names'`;
  return row!.fetched;
}

test('the cost of a message does not grow with the contacts of its account, with the plan of a small table', async () => {
  const { instanceId } = await internalApi.addEngine();
  const { database, sealer } = internalApi.world;
  const { accountId } = await database.instance.findUniqueOrThrow({ where: { id: instanceId } });
  const phones = Array.from({ length: CONTACTS }, (_, n) => `55117${String(10_000_000 + n)}`);
  const arrivals = phones.slice(-20).map((phone, place) => {
    const chat = `${phone}@s.whatsapp.net`;
    const message: InboundMessage = {
      ...{ wa_message_id: newUuid(), chat, from: chat, from_name: null, from_me: false },
      ...{ at: new Date().toISOString(), type: 'text', text: 'oi', quoted_wa_message_id: null },
    };
    return parseArrival({ instanceId, lease: null, message }, place + 1)!;
  });
  let fetchedRows: number | undefined;
  const transaction = database.$transaction(
    async (tx) => {
      const inTransaction = {
        $queryRaw: tx.$queryRaw.bind(tx),
        queryRows: <Row>(statement: Prisma.Sql) => tx.$queryRaw<Row[]>(statement),
        ...{ media: tx.media, contactName: tx.contactName },
      };
      await gather(inTransaction, sealer, arrivals);
      const ids = phones.map(() => newUuid());
      await tx.contact.createMany({ data: ids.map((id) => ({ id, accountId })) });
      await tx.contactName.createMany({
        data: phones.map((name, n) => ({ accountId, name, contactId: ids[n]! })),
      });
      const before = await countFetched(tx);
      const known = await gather(inTransaction, sealer, arrivals);
      expect(known.every(({ contactId }) => contactId !== null)).toBe(true);
      fetchedRows = (await countFetched(tx)) - before;
      // Uncommitted rows have no statistics, so the plan is that of a small table.
      throw new Error(ROLLED_BACK);
    },
    { timeout: 600_000 },
  );
  await expect(transaction).rejects.toThrow(ROLLED_BACK);
  // Each name, and all names of its contact.
  expect(fetchedRows).toBeLessThanOrEqual(4 * arrivals.length);
});

test('messages are found by any number of network ids with the same statements', async () => {
  const { instanceId } = await internalApi.addEngine();
  const { database } = internalApi.world;
  const to = '5511700000000';
  for (let n = 0; n < 3; n++) await internalApi.accept({ instance: instanceId, to });
  const messages = await database.message.findMany({ where: { instanceId } });
  const names = messages.map(({ conversationId, waMessageId }) => {
    return { instanceId, conversationId, waMessageId: waMessageId! };
  });
  await database.$transaction(async (tx) => {
    const countPrepared = async () => {
      const [row] = await tx.$queryRaw<{ count: number }[]>`
        SELECT count(*)::integer FROM pg_prepared_statements WHERE statement LIKE '%messages%'`;
      return row!.count;
    };
    expect(await findByNetworkIds(tx, names.slice(2))).toMatchObject([{ id: messages[2]!.id }]);
    await countPrepared();
    const before = await countPrepared();
    const unknown = { ...names[0]!, waMessageId: 'unknown' };
    expect(await findByNetworkIds(tx, [...names, unknown])).toMatchObject([
      ...messages.map(({ id }) => ({ id })),
      undefined,
    ]);
    expect(await countPrepared()).toBe(before);
  });
});
