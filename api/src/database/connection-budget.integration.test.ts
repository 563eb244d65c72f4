import { createLogger } from '@gwk/core/process/log';
import { createTestDatabase, query } from '@gwk/test/support/servers/database';
import { openDatabase } from './database.js';
import { checkConnectionBudget, TooFewConnections, type ConnectionLimit } from './connection-budget.js';

const setting = 'GWK_API_DATABASE_POOL';

function collectLog() {
  const lines: string[] = [];
  return { lines, log: createLogger('api', 'info', { write: (line) => void lines.push(line) }) };
}

const all = (used: number): ConnectionLimit => ({ name: 'max_connections', limit: 97, used });
const role = (limit: number, used = 0): ConnectionLimit => ({ name: 'the limit of the role', limit, used });

/** Checks a pool of 16 connections against limits. Returns the warning. */
async function check(limits: ConnectionLimit[], pool = 16): Promise<string> {
  const { lines, log } = collectLog();
  await checkConnectionBudget(
    { $queryRaw: (() => Promise.resolve(limits)) as never },
    { pool, setting, log },
  );
  return lines.join();
}

test('does not warn if all or exactly enough connections are free', async () => {
  expect(await check([all(0)])).toBe('');
  expect(await check([all(81)])).toBe('');
});

test('warns if other clients use the connections now', async () => {
  expect(await check([all(82)])).toContain('82 are in use');
  expect(await check([all(70), role(20, 5)])).toContain('5 are in use');
});

test('rejects a pool above a limit', async () => {
  await expect(check([all(0)], 98)).rejects.toThrow('allows 97 connections');
  await expect(check([all(0), role(15)])).rejects.toThrow('limit of the role');
});

test('reads the limits of a real Postgres and rejects a pool that cannot fit', async () => {
  const database = await createTestDatabase();
  const db = openDatabase({ url: database.url, poolSize: 1, program: 'test' });
  const { lines, log } = collectLog();
  const checkPool = (pool: number) => checkConnectionBudget(db, { pool, setting, log });
  try {
    await checkPool(1);
    expect(lines).toEqual([]);
    await expect(checkPool(100_000)).rejects.toThrow(TooFewConnections);
    const [row] = await db.$queryRaw<{ allowed: number }[]>`
      SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - current_setting('reserved_connections')::int AS allowed`;
    // This connection does not count; connections of other tests may.
    await expect(checkPool(row!.allowed + 1)).rejects.toThrow(String(row!.allowed));
  } finally {
    await db.$disconnect();
    await database.drop();
  }
});

test('uses the limits of the session user and the database, not of the role it sets', async () => {
  const database = await createTestDatabase();
  const url = new URL(database.url);
  [url.username, url.password] = ['budget_user', 'test'];
  await query(
    database.url,
    `CREATE ROLE budget_owner CONNECTION LIMIT 90;
     CREATE ROLE budget_user LOGIN PASSWORD 'test' CONNECTION LIMIT 5 IN ROLE budget_owner;
     ALTER ROLE budget_user SET role = budget_owner`,
  );
  const [db, other] = [1, 2].map(() => openDatabase({ url: url.href, poolSize: 1, program: 'test' }));
  const { lines, log } = collectLog();
  const checkPool = (pool: number) => checkConnectionBudget(db!, { pool, setting, log });
  try {
    await expect(checkPool(6)).rejects.toThrow('allows 5 connections (the limit of the role)');
    await other!.$queryRaw`SELECT 1`;
    await checkPool(5);
    expect(lines.join()).toContain('1 are in use');
    await query(database.url, `ALTER DATABASE "${url.pathname.slice(1)}" CONNECTION LIMIT 4`);
    await expect(checkPool(5)).rejects.toThrow('allows 4 connections (the limit of the database)');
  } finally {
    await Promise.all([db!.$disconnect(), other!.$disconnect()]);
    await query(database.url, 'DROP ROLE budget_user; DROP ROLE budget_owner');
    await database.drop();
  }
});
