import { fromPublicId } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { InstanceOut } from '../resources/instance.js';
import type { MessageOut } from '@gwk/core/resources/message';
import { openApi } from '@gwk/test/support/api/open-api';
import { idMadeAt } from '@gwk/test/support/servers/dated-ids';
import { Prisma } from '../generated/prisma/client.js';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

/**
 * The cost of a page must not grow with the rows of its day. Postgres counts the rows that it reads; it keeps the plans that it
 * made when the day had few rows.
 */
const FEW = 60;
const ROWS = 6_000;
/** Rows per second before now, so that few rows share an id bucket. */
const RATE = 250;
const LIMIT = 50;
const PLANS = 8;
/** Lists that are measured after the plans are cached. */
const LISTS = 40;

let api: TestApi;
let client: ApiClient;
let instance: string;
let insert: (rows: number, newest: number) => Promise<unknown>;

beforeEach(async () => {
  api = await openApi();
  const account = await api.account();
  await api.db.account.update({ where: { id: account.id }, data: { requestsPerMinute: 1_000_000 } });
  client = await api.clientOf(account);
  const body = { name: 'um', kind: 'web' };
  instance = (await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id;
  const instanceId = fromPublicId('instance', instance)!;
  const conversation = { id: instanceId, instanceId, groupId: '120363000000000001@g.us' };
  await api.db.conversation.create({ data: conversation });
  await api.db.$queryRaw`SELECT gwk_ensure_partitions('messages', current_date - 90, current_date)`;
  const id = idMadeAt('gwk_new_id()', `now() - n * interval '1 second' / ${RATE}`);
  /** Inserts `rows` rows; the newest is `newest` rows before now. */
  insert = (rows, newest) => api.db.$executeRaw`
    INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status, created_at, updated_at)
    SELECT ${Prisma.raw(id)}, ${account.id}::uuid, ${instanceId}::uuid, ${instanceId}::uuid, 'outbound', '5511900000001', 'text',
      'sent', now(), now() FROM generate_series(${newest + 1}::integer, ${newest + rows}::integer) AS n`;
  await insert(FEW, ROWS);
  await api.db.$executeRawUnsafe('ANALYZE messages');
});
afterEach(() => api.stop());

/**
 * Rows of messages that Postgres has read so far. A connection reports its reads with a delay or at its end, so the
 * connections of the API are closed.
 */
async function rowsRead(): Promise<number> {
  await api.db.$queryRaw`
    SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
    WHERE application_name = 'gwk-api' AND datname = current_database()`;
  const [row] = await api.db.$queryRaw<{ read: number }[]>`
    SELECT (sum(s.seq_tup_read) + sum(coalesce(s.idx_tup_fetch, 0)))::integer AS read
    FROM pg_stat_all_tables s WHERE s.relname LIKE 'messages\\_%'`;
  return row!.read;
}

async function page(filters: Record<string, string>): Promise<void> {
  const query = { ...filters, limit: String(LIMIT) };
  const { body } = await client.call<Page<MessageOut>>('GET', '/v1/messages', { query });
  expect(body.data).toHaveLength(LIMIT);
}

test.each<[string, () => Record<string, string>]>([
  ['an account', () => ({})],
  ['an instance', () => ({ instance_id: instance })],
])('a page of %s reads about as many rows as it returns', async (_, filters) => {
  for (let count = 0; count < PLANS; count++) await page(filters());
  await insert(ROWS, 0);
  for (let count = 0; count < LISTS; count++) await page(filters());
  const read = (await rowsRead()) / LISTS;
  expect(read).toBeGreaterThanOrEqual(LIMIT);
  expect(read).toBeLessThan(LIMIT * 5);
});
