import type { Listener } from '@gwk/core/http/listener-limits';
import { createTestDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import { openDatabase, type Database } from '../database/database.js';
import { findNewestMigration } from '../database/migrate.js';
import type { Redis } from '../platform/redis.js';
import { startHealthListener } from './probes.js';

let database: TestDatabase;
let db: Database;
let listener: Listener;

beforeEach(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url, poolSize: 1, program: 'test' });
  listener = await startHealthListener(
    { host: '127.0.0.1', port: 0 },
    {
      db,
      redis: { isReady: true } as Redis,
      media: { writable: () => Promise.resolve(true) },
      registry: null,
      draining: () => false,
    },
  );
});

afterEach(async () => {
  await listener.close();
  await db.$disconnect();
  await database.drop();
});

async function readyz(): Promise<[number, string | undefined]> {
  const answer = await fetch(`http://127.0.0.1:${listener.port}/readyz`);
  const { checks } = (await answer.json()) as { checks: Record<string, string> };
  return [answer.status, checks['postgres']];
}

test('is ready with the newest migration', async () => {
  expect(await readyz()).toEqual([200, 'ok']);
});

test.each([
  ['a database without the schema', 'DROP SCHEMA public CASCADE; CREATE SCHEMA public'],
  [
    'a migration that has not finished',
    `UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = '${findNewestMigration()}'`,
  ],
  [
    'the schema of an older version',
    `DELETE FROM _prisma_migrations WHERE migration_name = '${findNewestMigration()}'`,
  ],
])('is not ready with %s', async (_, change) => {
  for (const statement of change.split('; ')) await db.$executeRawUnsafe(statement);
  expect(await readyz()).toEqual([503, 'not-migrated']);
});
