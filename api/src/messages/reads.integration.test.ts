import { newUuid } from '@gwk/core/ids/ids';
import { createTestDatabase } from '@gwk/test/support/servers/database';
import { idMadeAt } from '@gwk/test/support/servers/dated-ids';
import pg from 'pg';

/**
 * The cost of a lookup in the messages or the queue of a conversation depends on the rows found, not on the rows stored.
 * The tests use the row counters of Postgres, with plans that were cached while the tables were almost empty.
 */
const FEW = 20;
const ROWS = 5_000;
/** Limit of rows read for one row found: its versions, and rows with the same key. */
const MAX_ROWS_READ = 60;

const instance = newUuid();
const conversation = newUuid();
const lease = { epoch: 1, holder: newUuid() };
const nameOf = (n: number) => `3EB0${String(n).padStart(18, '0')}`;

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let client: pg.Client;
let written = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  // Disables foreign keys, so that accounts, instances and contacts are not needed.
  await client.query('SET session_replication_role = replica');
  await client.query(`INSERT INTO instance_leases (instance_id, epoch, holder) VALUES ($1, $2, $3)`, [
    instance,
    lease.epoch,
    lease.holder,
  ]);
  await client.query(`INSERT INTO conversations (id, instance_id, group_id) VALUES ($1, $2, 'g')`, [
    conversation,
    instance,
  ]);
  await write(FEW);
  await client.query('ANALYZE messages, outbox');
  for (const lookup of Object.values(lookups)) await lookup(0);
  await write(ROWS);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** 100 messages for each second, in today's partition (or in two around midnight). */
async function write(rows: number): Promise<void> {
  await client.query(
    `WITH made AS (
       INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status, wa_message_id,
         created_at, updated_at)
       SELECT ${idMadeAt('gwk_new_id()', "now() + (n - 10000) * interval '10 milliseconds'")},
         $1, $1, $2, 'outbound', '5511900000001', 'text', 'queued', '3EB0' || lpad(n::text, 18, '0'), now(), now()
       FROM generate_series($3::integer, $3::integer + $4::integer - 1) AS n
       RETURNING id, wa_message_id)
     INSERT INTO outbox (message_id, instance_id, conversation_id, seq, state, release_at, offline_ms_at_start, created_at)
     SELECT w.message_id, $1, $2, w.seq, w.state, w.release_at, 0, now() FROM made CROSS JOIN LATERAL (
       VALUES (id, right(wa_message_id, 18)::bigint, 'waiting', NULL), (gwk_new_id(), NULL, 'scheduled', now())
     ) AS w(message_id, seq, state, release_at)`,
    [instance, conversation, written, rows],
  );
  written += rows;
}

const lookups: Record<string, (n: number) => Promise<unknown>> = {
  'the message of a receipt': async (n) => {
    const { rows } = await client.query<{ found: string[] }>(
      'SELECT gwk_find_messages(ARRAY[NULL::uuid], ARRAY[$1::uuid], NULL, ARRAY[$2]) AS found',
      [instance, nameOf(n)],
    );
    return rows[0]!.found[0];
  },
  'the message that an inbound message refers to': async (n) => {
    const { rows } = await client.query<{ found: string[] }>(
      'SELECT gwk_find_messages(NULL, ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3]) AS found',
      [instance, conversation, nameOf(n)],
    );
    return rows[0]!.found[0];
  },
  'the next message of a long queue with as many scheduled ones': async () => {
    await client.query('UPDATE outbox SET head = false WHERE head');
    await client.query('SELECT gwk_promote_heads(ARRAY[$1::uuid])', [conversation]);
    const { rows } = await client.query<{ message_id: string }>(
      'SELECT message_id FROM outbox WHERE head AND seq = 0',
    );
    return rows[0]!.message_id;
  },
};

test.each(Object.keys(lookups))('finds %s without reading the other rows', async (name) => {
  await client.query('BEGIN');
  const before = await rowsRead();
  expect(await lookups[name]!(4_321)).toEqual(expect.any(String));
  const read = (await rowsRead()) - before;
  await client.query('COMMIT');
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(MAX_ROWS_READ);
});

test('BRIN indexes summarize themselves where inserts do not trigger autovacuum', async () => {
  const { rows } = await client.query<{ ranges: string; kept: boolean }>(
    `SELECT i.relname AS ranges, 'autosummarize=on' = ANY (coalesce(i.reloptions, '{}')) AS kept
     FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
     JOIN pg_am a ON a.oid = i.relam
     WHERE a.amname = 'brin' AND 'autovacuum_vacuum_insert_threshold=-1' = ANY (t.reloptions) ORDER BY 1`,
  );
  expect(rows).toEqual([
    { ranges: 'idempotency_records_expires_at_idx', kept: true },
    { ranges: 'mass_sends_at_idx', kept: true },
  ]);
});

/** Rows read in this transaction. */
async function rowsRead(): Promise<number> {
  const { rows } = await client.query<{ read: number }>(
    `SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::integer AS read FROM pg_stat_xact_all_tables
     WHERE relname ~ '^messages' OR relname = 'outbox'`,
  );
  return rows[0]!.read;
}
