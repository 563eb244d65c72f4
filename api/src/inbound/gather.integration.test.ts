import { newUuid } from '@gwk/core/ids';
import type { InboundMessage } from '@gwk/core/protocol/engine';
import { createInternalApiWorld, type InternalApiWorld } from '@gwk/test/support/api/internal-api';
import type { Queryable } from '../database/database.js';
import { parseArrival } from './arrival.js';
import { gather } from './gather.js';

let port: InternalApiWorld;
beforeAll(async () => {
  port = await createInternalApiWorld();
});
afterAll(() => port.close());

const CONTACTS = 1_500;
const ROLLED_BACK = 'rolled back';

/** Rows of names that were looked at in this transaction. */
async function lookedAt(tx: Queryable): Promise<number> {
  const [row] = await tx.$queryRaw<{ fetched: number }[]>`
    SELECT idx_tup_fetch::integer AS fetched FROM pg_stat_xact_user_tables WHERE relname = 'contact_names'`;
  return row!.fetched;
}

test('what a message costs does not grow with the contacts of its account, in a table that was small at first', async () => {
  const { instanceId } = await port.addEngine();
  const { database, sealer } = port.world;
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
  let looked: number | undefined;
  const transaction = database.$transaction(
    async (tx) => {
      await gather(tx, sealer, arrivals);
      const ids = phones.map(() => newUuid());
      await tx.contact.createMany({ data: ids.map((id) => ({ id, accountId })) });
      await tx.contactName.createMany({
        data: phones.map((name, n) => ({ accountId, name, contactId: ids[n]! })),
      });
      const before = await lookedAt(tx);
      const known = await gather(tx, sealer, arrivals);
      expect(known.every(({ contactId }) => contactId !== null)).toBe(true);
      looked = (await lookedAt(tx)) - before;
      // No statistics are made of what is not committed: the plan is that of the small table.
      throw new Error(ROLLED_BACK);
    },
    { timeout: 600_000 },
  );
  await expect(transaction).rejects.toThrow(ROLLED_BACK);
  // Each name, and all names of each contact that it leads to.
  expect(looked).toBeLessThanOrEqual(4 * arrivals.length);
});
