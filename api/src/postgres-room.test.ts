import { createLogger } from '@gwk/core/log';
import { createTestDatabase } from '@gwk/test/harness/database';
import { openDatabase } from './database.js';
import { checkRoom, judgeRoom, NoRoom, type Room, type RoomVerdict } from './postgres-room.js';

const room = (given: Partial<Room> = {}): Room => ({
  connections: 97,
  roleLimit: null,
  databaseLimit: null,
  used: { all: 0, role: 0, database: 0 },
  ...given,
});

const used = (all: number, role = 0): Room['used'] => ({ all, role, database: all });

test.each<[string, { pool?: number; room?: Partial<Room> }, RoomVerdict['fits'], string]>([
  ['there is room for all of them', {}, 'always', ''],
  ['exactly as many are free', { room: { used: used(81) } }, 'always', ''],
  ['others have them now', { room: { used: used(82) } }, 'not-now', '82 are in use'],
  ['there will never be as many', { pool: 98 }, 'never', 'allows 97 connections'],
  ['the role may have fewer', { room: { roleLimit: 15 } }, 'never', 'limit of the role'],
  ['the database may have fewer', { room: { databaseLimit: 15 } }, 'never', 'limit of the database'],
  ['the role has used up its own', { room: { roleLimit: 20, used: used(70, 5) } }, 'not-now', '5 are in use'],
])('%s', (_sentence, given, fits, words) => {
  const verdict = judgeRoom(given.pool ?? 16, 'GWK_API_DATABASE_POOL', room(given.room));
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
