import { createLogger } from '@gwk/core/log';
import { createTestDatabase, query } from '@gwk/test/support/servers/database';
import { openDatabase } from './database.js';
import {
  checkConnectionBudget,
  decideConnectionBudget,
  TooFewConnections,
  type ConnectionBudget,
  type ConnectionDecision,
} from './connection-budget.js';

const budget = (given: Partial<ConnectionBudget> = {}): ConnectionBudget => ({
  connections: 97,
  roleLimit: null,
  databaseLimit: null,
  used: { all: 0, role: 0, database: 0 },
  ...given,
});

const used = (all: number, role = 0): ConnectionBudget['used'] => ({ all, role, database: all });

test.each<
  [string, { pool?: number; budget?: Partial<ConnectionBudget> }, ConnectionDecision['fits'], string]
>([
  ['all connections are free', {}, 'always', ''],
  ['exactly enough are free', { budget: { used: used(81) } }, 'always', ''],
  ['other clients use them now', { budget: { used: used(82) } }, 'not-now', '82 are in use'],
  ['max_connections is too low', { pool: 98 }, 'never', 'allows 97 connections'],
  ['the limit of the role is too low', { budget: { roleLimit: 15 } }, 'never', 'limit of the role'],
  [
    'the limit of the database is too low',
    { budget: { databaseLimit: 15 } },
    'never',
    'limit of the database',
  ],
  [
    'the role has used its connections',
    { budget: { roleLimit: 20, used: used(70, 5) } },
    'not-now',
    '5 are in use',
  ],
])('%s', (_sentence, given, fits, words) => {
  const decision = decideConnectionBudget(given.pool ?? 16, 'GWK_API_DATABASE_POOL', budget(given.budget));
  expect(decision.fits).toBe(fits);
  expect('message' in decision ? decision.message : '').toContain(words);
});

test('reads the limits of a real Postgres and rejects a pool that cannot fit', async () => {
  const database = await createTestDatabase();
  const db = openDatabase({ url: database.url, poolSize: 1, program: 'test' });
  const lines: string[] = [];
  const log = createLogger('api', 'info', { write: (line) => void lines.push(line) });
  const check = (pool: number) => checkConnectionBudget(db, { pool, setting: 'GWK_API_DATABASE_POOL', log });
  try {
    await check(1);
    expect(lines).toEqual([]);
    await expect(check(100_000)).rejects.toThrow(TooFewConnections);
    const [row] = await db.$queryRaw<{ allowed: number }[]>`
      SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - current_setting('reserved_connections')::int AS allowed`;
    // This connection does not count; connections of other tests may.
    await expect(check(row!.allowed + 1)).rejects.toThrow(String(row!.allowed));
  } finally {
    await db.$disconnect();
    await database.drop();
  }
});

test('uses the limit of the session user, not of the role it sets', async () => {
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
  const lines: string[] = [];
  const log = createLogger('api', 'info', { write: (line) => void lines.push(line) });
  const check = (pool: number) => checkConnectionBudget(db!, { pool, setting: 'GWK_API_DATABASE_POOL', log });
  try {
    await expect(check(6)).rejects.toThrow('allows 5 connections (the limit of the role)');
    await other!.$queryRaw`SELECT 1`;
    await check(5);
    expect(lines.join()).toContain('1 are in use');
  } finally {
    await Promise.all([db!.$disconnect(), other!.$disconnect()]);
    await query(database.url, 'DROP ROLE budget_user; DROP ROLE budget_owner');
    await database.drop();
  }
});
