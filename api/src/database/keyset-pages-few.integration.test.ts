import { lowestUuidAt, newUuid } from '@gwk/core/ids/ids';
import { createWorld, type World } from '@gwk/test/support/api/acceptance';
import type { Prisma } from '../generated/prisma/client.js';
import type { Database } from './database.js';

/**
 * An owner with few rows is listed by an index of the owner, which reads only the owner's rows of a day. The primary key has
 * the same order, but would read the rows of all owners.
 */
const ROWS = 20_000;
const FEW = 12;
/** Every n-th row belongs to the quiet owner. */
const EVERY = Math.floor(ROWS / FEW);
const LIMIT = 50;
const [busy, quiet] = [newUuid(), newUuid()];

let world: World;
let db: Database;
beforeAll(async () => {
  world = await createWorld(0);
  db = world.database;
  await world.addInstance({ id: quiet });
  const owner = `(CASE WHEN n % ${EVERY} = 0 THEN '${quiet}' ELSE '${busy}' END)::uuid`;
  const rows = `generate_series(1, ${EVERY * FEW}) AS n`;
  for (const sql of [
    `INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status, created_at,
       updated_at, failed_at)
     SELECT gwk_new_id(), ${owner}, ${owner}, ${owner}, 'outbound', '5511900000001', 'text', 'failed', now(), now(), now()
     FROM ${rows}`,
    `INSERT INTO conversations (id, instance_id, group_id, days)
     SELECT '${quiet}', '${quiet}', '120363000000000001@g.us', array_agg(DISTINCT gwk_id_day(m.id))
     FROM messages m WHERE m.conversation_id = '${quiet}'`,
    `INSERT INTO events (id, account_id, instance_id, type, timestamp, data_sealed)
     SELECT gwk_new_id(), '${busy}', ${owner}, CASE WHEN n % ${EVERY} = 0 THEN 'instance.banned' ELSE 'message.sent' END,
       now(), '' FROM ${rows}`,
    `INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event_id, event_type, status, created_at)
     SELECT gwk_new_id(), '${busy}', ${owner}, gwk_new_id(), 'message.sent', 'failed', now() FROM ${rows}`,
    'ANALYZE',
  ])
    await db.$executeRawUnsafe(sql);
}, 60_000);
afterAll(() => world.close());

test.each<[sentence: string, table: string, call: string]>([
  ['messages of an account', 'messages', `gwk_messages_of_account('${quiet}', NULL, NULL`],
  ['messages of an account, of one status', 'messages', `gwk_messages_of_account('${quiet}', 'failed', NULL`],
  ['messages of an instance', 'messages', `gwk_messages_of_instances('{${quiet}}', NULL, NULL`],
  ['messages of a conversation', 'messages', `gwk_messages_of_conversations('{${quiet}}', NULL, NULL`],
  ['failed messages', 'messages', `gwk_failed_messages('${quiet}', NULL, NULL`],
  ['events of a type', 'events', `gwk_events_of_account('${busy}', 'instance.banned'`],
  ['events of an instance', 'events', `gwk_events_of_instances('{${quiet}}', NULL`],
  ['deliveries to an endpoint', 'webhook_deliveries', `gwk_deliveries_of_endpoint('${quiet}', NULL, NULL`],
  ['failed deliveries', 'webhook_deliveries', `gwk_deliveries_of_endpoint('${quiet}', 'failed', NULL`],
])('%s: reads only the rows of the owner', async (_, table, call) => {
  const all = `'${lowestUuidAt(0)}', '${lowestUuidAt(Date.now() + 86_400_000)}', ${LIMIT}`;
  const rowsRead = async (tx: Prisma.TransactionClient): Promise<number> => {
    const [row] = await tx.$queryRawUnsafe<{ read: number }[]>(
      `SELECT (sum(s.seq_tup_read) + sum(coalesce(s.idx_tup_fetch, 0)))::integer AS read
       FROM pg_stat_xact_all_tables s WHERE s.relname LIKE '${table}\\_%'`,
    );
    return row!.read;
  };
  const read = await db.$transaction(async (tx) => {
    const before = await rowsRead(tx);
    const page = await tx.$queryRawUnsafe<unknown[]>(`SELECT l.id FROM ${call}, ${all}) AS l`);
    expect(page).toHaveLength(FEW);
    return (await rowsRead(tx)) - before;
  });
  expect(read).toBe(FEW);
});
