import { randomBytes } from 'node:crypto';
import { newUuid } from '@gwk/core/ids/ids';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { openApi } from '@gwk/test/support/api/open-api';
import { query } from '@gwk/test/support/servers/database';
import { until } from '@gwk/test/support/wait';
import { openDatabase, type Database } from '../database.js';
import { openEventData, sealEventData } from '../../events/emit.js';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { SEALED } from './columns.js';
import { reencrypt, countByKey } from './reencrypt.js';

const ROWS = 3_000;

let api: TestApi;
let account: TestAccount;
let db: Database;
const [old, newer] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
const former = new Sealer(parseEncryptionKeys(old));
const both = new Sealer(parseEncryptionKeys(`${newer},${old}`));

beforeAll(async () => {
  api = await openApi();
  account = await api.account();
  db = openDatabase({ url: api.options.databaseUrl, poolSize: 2, program: 'test' });
});
afterAll(async () => {
  await db.$disconnect();
  await api.stop();
});

async function addEvents(amount: number, sealer: Sealer, type = 'webhook.test'): Promise<string[]> {
  const rows = Array.from({ length: amount }, (_, i) => ({
    id: newUuid(),
    accountId: account.id,
    type,
    timestamp: new Date(),
    dataSealed: new Uint8Array(sealEventData(sealer, account.id, { i })),
  }));
  await api.db.event.createMany({ data: rows });
  return rows.map(({ id }) => id);
}

/** Returns the ids of rows that are still encrypted with the old key. */
async function findUnchanged(ids: string[]): Promise<string[]> {
  const rows = await db.$queryRaw<{ id: string }[]>`
    SELECT id::text FROM events WHERE id = ANY (${ids}::uuid[])
      AND encode(substring(data_sealed FROM 1 FOR 8), 'hex') = ${former.keys[0]!.id} ORDER BY id`;
  return rows.map(({ id }) => id);
}

/** The database with a counter of its statements. */
function countStatements(): { count: () => number; db: Database } {
  let count = 0;
  const counting =
    (method: '$queryRaw' | '$executeRaw') =>
    (sql: TemplateStringsArray, ...values: unknown[]) => {
      count++;
      return db[method](sql, ...values);
    };
  const methods: Record<string | symbol, unknown> = {
    $queryRaw: counting('$queryRaw'),
    $executeRaw: counting('$executeRaw'),
  };
  const proxy = new Proxy(db, {
    get: (target, name) => methods[name] ?? (Reflect.get(target, name) as unknown),
  });
  return { count: () => count, db: proxy };
}

const EVENTS = SEALED.filter(({ table }) => table === 'events');
const PAGE = 1_000;

test('replaces many values per statement, across pages', async () => {
  const ids = await addEvents(ROWS, former);
  const { count, db: counted } = countStatements();
  const done = await reencrypt(counted, both, { columns: EVENTS, pageRows: PAGE });
  expect(done).toMatchObject({ reencrypted: ROWS, left: 0 });
  // Per page a read and an update; then the final count.
  expect(count()).toBeGreaterThan(ROWS / PAGE);
  expect(count()).toBeLessThanOrEqual((ROWS / PAGE + 1) * 3);
  const [present] = parseEncryptionKeys(newer);
  expect((await countByKey(db, both)).rows).toEqual({ [present!.id]: expect.any(Number) as number });
  const row = await api.db.event.findUniqueOrThrow({ where: { id: ids[7]! } });
  expect(openEventData(new Sealer(parseEncryptionKeys(newer)), account.id, row.dataSealed)).toEqual({ i: 7 });
});

test('splits a table that is too large for the statement timeout', async () => {
  await addEvents(400, new Sealer(parseEncryptionKeys(newer)), 'slow');
  // A statement that reads more rows than a page is canceled like after a statement timeout.
  await query(
    api.options.databaseUrl,
    `CREATE FUNCTION slowly(type text) RETURNS boolean LANGUAGE plpgsql COST 1000000 AS $$
       DECLARE seen integer := coalesce(nullif(current_setting('test.seen', true), '')::integer, 0) + 1;
       BEGIN
         IF type = 'slow' THEN
           PERFORM set_config('test.seen', seen::text, true);
           IF seen > 100 THEN
             RAISE query_canceled USING MESSAGE = 'canceling statement due to statement timeout';
           END IF;
         END IF;
         RETURN true;
       END $$;
     CREATE VIEW slow_events AS SELECT * FROM events WHERE slowly(type)`,
  );
  const columns = [{ ...EVENTS[0]!, table: 'slow_events' }];
  const whole = countByKey(db, both, { columns, pageRows: 1_000_000 });
  await expect(whole).rejects.toThrow(/statement timeout/);
  const { rows } = await countByKey(db, both, { columns, pageRows: 50 });
  expect(Object.values(rows)).toEqual([await api.db.event.count()]);
  expect(await reencrypt(db, both, { columns, pageRows: 50 })).toMatchObject({ reencrypted: 0, left: 0 });
});

test('a locked row does not delay the other rows', async () => {
  const ids = await addEvents(20, former);
  const held = ids[3]!;
  let work: Promise<unknown> | undefined;
  await api.db.$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM events WHERE id = ${held}::uuid FOR UPDATE`;
      work = reencrypt(db, both, { columns: EVENTS });
      await until(async () => (await findUnchanged(ids)).join() === held, {
        what: 'all other rows are replaced',
      });
    },
    { timeout: 600_000 },
  );
  expect(await work).toMatchObject({ reencrypted: 20, left: 0 });
  expect(await findUnchanged(ids)).toEqual([]);
});
