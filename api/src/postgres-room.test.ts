import { createLogger } from '@gwk/core/log';
import { createTestDatabase } from '@gwk/test/harness/database';
import { openDatabase } from './database.js';
import { checkRoom, judgeRoom, NoRoom, type Room } from './postgres-room.js';

const room = (given: Partial<Room> = {}): Room => ({
  connections: 97,
  roleLimit: null,
  databaseLimit: null,
  used: { all: 0, role: 0, database: 0 },
  ...given,
});

test.each<[string, number, Room, string, string]>([
  ['there is room for all of them', 16, room(), 'always', ''],
  ['exactly as many are free', 16, room({ used: { all: 81, role: 0, database: 0 } }), 'always', ''],
  ['others have them now', 16, room({ used: { all: 82, role: 0, database: 0 } }), 'not-now', '82 are in use'],
  ['there will never be as many', 98, room(), 'never', 'allows 97 connections'],
  ['the role may have fewer', 16, room({ roleLimit: 15 }), 'never', 'limit of the role'],
  ['the database may have fewer', 16, room({ databaseLimit: 15 }), 'never', 'limit of the database'],
  [
    'the role has used them up',
    16,
    room({ roleLimit: 20, used: { all: 90, role: 5, database: 90 } }),
    'not-now',
    'in use',
  ],
])('%s', (_sentence, pool, given, fits, words) => {
  const verdict = judgeRoom(pool, 'GWK_API_DATABASE_POOL', given);
  expect(verdict.fits).toBe(fits);
  expect('message' in verdict ? verdict.message : '').toContain(words);
});

test('a real Postgres says what it has, and a pool that can never be is refused', async () => {
  const database = await createTestDatabase();
  const db = openDatabase({ url: database.url, poolSize: 1, program: 'test' });
  const lines: string[] = [];
  const log = createLogger('api', 'info', { write: (line) => void lines.push(line) });
  const check = (pool: number) => checkRoom(db, { pool, setting: 'GWK_API_DATABASE_POOL', log });
  try {
    await check(1);
    expect(lines).toEqual([]);
    await expect(check(100_000)).rejects.toThrow(NoRoom);
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
