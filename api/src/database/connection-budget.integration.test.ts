import { createLogger } from '@gwk/core/log';
import { createTestDatabase, query } from '@gwk/test/support/servers/database';
import { openDatabase } from './database.js';
import {
  checkConnectionBudget,
  decideConnectionBudget,
  TooFewConnections,
  type Room,
  type ConnectionVerdict,
} from './connection-budget.js';

const room = (given: Partial<Room> = {}): Room => ({
  connections: 97,
  roleLimit: null,
  databaseLimit: null,
  used: { all: 0, role: 0, database: 0 },
  ...given,
});

const used = (all: number, role = 0): Room['used'] => ({ all, role, database: all });

test.each<[string, { pool?: number; room?: Partial<Room> }, ConnectionVerdict['fits'], string]>([
  ['there is room for all of them', {}, 'always', ''],
  ['exactly as many are free', { room: { used: used(81) } }, 'always', ''],
  ['others have them now', { room: { used: used(82) } }, 'not-now', '82 are in use'],
  ['there will never be as many', { pool: 98 }, 'never', 'allows 97 connections'],
  ['the role may have fewer', { room: { roleLimit: 15 } }, 'never', 'limit of the role'],
  ['the database may have fewer', { room: { databaseLimit: 15 } }, 'never', 'limit of the database'],
  ['the role has used up its own', { room: { roleLimit: 20, used: used(70, 5) } }, 'not-now', '5 are in use'],
])('%s', (_sentence, given, fits, words) => {
  const verdict = decideConnectionBudget(given.pool ?? 16, 'GWK_API_DATABASE_POOL', room(given.room));
  expect(verdict.fits).toBe(fits);
  expect('message' in verdict ? verdict.message : '').toContain(words);
});

test('a real Postgres says what it has, and a pool that can never be is refused', async () => {
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
    // This very connection does not count; those of other tests may.
    await expect(check(row!.allowed + 1)).rejects.toThrow(String(row!.allowed));
  } finally {
    await db.$disconnect();
    await database.drop();
  }
});

test('the limit is of the user who connects, whatever role it acts as', async () => {
  const database = await createTestDatabase();
  const url = new URL(database.url);
  [url.username, url.password] = ['room_user', 'test'];
  await query(
    database.url,
    `CREATE ROLE room_owner CONNECTION LIMIT 90;
     CREATE ROLE room_user LOGIN PASSWORD 'test' CONNECTION LIMIT 5 IN ROLE room_owner;
     ALTER ROLE room_user SET role = room_owner`,
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
    await query(database.url, 'DROP ROLE room_user; DROP ROLE room_owner');
    await database.drop();
  }
});
