import { openDatabase, type Database } from '@gwk/api/database/database';
import { trafficJob } from '@gwk/api/jobs/traffic';
import { lowestUuidAt, newUuid } from '@gwk/core/ids/ids';
import { RATED_DELIVERIES } from '@gwk/api/resources/console/endpoint';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/servers/database.js';
import { fillLargeAccount } from '../support/servers/large-account.js';

const INSTANCES = 1_000;
const MESSAGES = 1_000_000;
const HOUR_MS = 3_600_000;
/** Rows of a page of the console. */
const PAGE = 50;

let database: TestDatabase;
let db: Database;
let client: pg.Client;
const accountId = newUuid();

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url, poolSize: 2, program: 'test' });
  await db.account.create({ data: { id: accountId, name: accountId } });
  await fillLargeAccount({
    databaseUrl: database.url,
    accountId,
    instances: INSTANCES,
    messages: MESSAGES,
    days: 30,
  });
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
}, 300_000);
afterAll(async () => {
  await client?.end();
  await db?.$disconnect();
  await database?.drop();
});

interface Plan {
  Plan: Record<'Shared Hit Blocks' | 'Shared Read Blocks', number>;
}

/** Pages of Postgres (8 kB) that a statement reads, also in the functions that it calls. */
async function countPages(sql: string, values: unknown[] = []): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': Plan[] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`,
    values,
  );
  const { Plan } = rows[0]!['QUERY PLAN'][0]!;
  return Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'];
}

const ids = async (amount: number) =>
  (await client.query<{ id: string }>(`SELECT id FROM instances ORDER BY id DESC LIMIT ${amount}`)).rows.map(
    ({ id }) => id,
  );

test('the worker counts the traffic of 30 days', async () => {
  while ((await trafficJob({ db }).pass()).more);
  const { _sum } = await db.accountTrafficHour.aggregate({
    _sum: { sent: true, failed: true, received: true },
  });
  const total = _sum.sent! + _sum.failed! + _sum.received!;
  // The API counts the last hours.
  expect(total).toBeGreaterThan(MESSAGES * 0.99);
  expect(total).toBeLessThan(MESSAGES);
}, 120_000);

// Postgres reads a page that it has in memory in about 1 µs, and 100 ms is the time of a statement.
test.each<[string, number, () => Promise<number>]>([
  [
    'the messages that the worker has not counted',
    10_000,
    () =>
      countPages('SELECT * FROM gwk_messages_by_hour($1, $2)', [
        accountId,
        lowestUuidAt(Date.now() - 2 * HOUR_MS),
      ]),
  ],
  [
    'the deliveries that the worker has not counted',
    5_000,
    () =>
      countPages('SELECT * FROM gwk_deliveries_by_hour($1, $2)', [
        accountId,
        lowestUuidAt(Date.now() - 2 * HOUR_MS),
      ]),
  ],
  [
    'the counted hours',
    1_000,
    () => countPages('SELECT * FROM account_traffic_hours WHERE account_id = $1', [accountId]),
  ],
  [
    'the numbers that need a person',
    10_000,
    () => countPages('SELECT * FROM gwk_troubled_instances($1, NULL, now(), 100)', [accountId]),
  ],
  [
    'queues and last messages of a page of numbers',
    10_000,
    async () => countPages('SELECT * FROM gwk_work_of_instances($1, 1000)', [await ids(PAGE)]),
  ],
  [
    'a page of messages',
    5_000,
    () =>
      countPages('SELECT * FROM gwk_messages_of_account($1, NULL, NULL, $2, $3, 51)', [
        accountId,
        lowestUuidAt(Date.now() - 48 * HOUR_MS),
        lowestUuidAt(Date.now() + 24 * HOUR_MS),
      ]),
  ],
  [
    'a page of messages of a rare type',
    5_000,
    () =>
      countPages(`SELECT * FROM gwk_messages_of_account($1, NULL, 'image', $2, $3, 51)`, [
        accountId,
        lowestUuidAt(0),
        lowestUuidAt(Date.now() + 24 * HOUR_MS),
      ]),
  ],
  [
    'a page of the delivery log',
    5_000,
    () =>
      countPages(
        `SELECT * FROM gwk_deliveries_of_endpoint((SELECT id FROM webhook_endpoints), 'failed', NULL, $1, $2, 51)`,
        [lowestUuidAt(0), lowestUuidAt(Date.now() + 24 * HOUR_MS)],
      ),
  ],
  [
    'the results of an endpoint',
    5_000,
    () =>
      countPages('SELECT * FROM gwk_results_of_endpoints(ARRAY(SELECT id FROM webhook_endpoints), $1, $2)', [
        lowestUuidAt(Date.now() - 24 * HOUR_MS),
        RATED_DELIVERIES,
      ]),
  ],
])('%s: at most %i pages', async (_, bound, count) => {
  expect(await count()).toBeLessThan(bound);
});
