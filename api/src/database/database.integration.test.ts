import { newUuid } from '@gwk/core/ids';
import { createTestDatabase, query } from '@gwk/test/support/servers/database';
import { openDatabase } from './database.js';

test('times do not depend on the time zone of the server', async () => {
  const testDatabase = await createTestDatabase();
  const name = new URL(testDatabase.url).pathname.slice(1);
  await query(testDatabase.url, `ALTER DATABASE ${name} SET timezone = 'America/Sao_Paulo'`);
  const database = openDatabase({ url: testDatabase.url, poolSize: 1, program: 'test' });
  try {
    const id = newUuid();
    await database.account.create({ data: { id, name: 'main', suspendedAt: new Date() } });
    const [row] = await database.$queryRaw<{ now: Date; ago: number }[]>`
      SELECT now(), extract(epoch FROM now() - suspended_at)::double precision AS ago FROM accounts`;
    expect(Math.abs(row!.ago)).toBeLessThan(600);
    expect(Math.abs(Date.now() - row!.now.getTime())).toBeLessThan(600_000);
  } finally {
    await database.$disconnect();
    await testDatabase.drop();
  }
});

test('leaves a server that became read-only, and forgets no setting of the session', async () => {
  const testDatabase = await createTestDatabase();
  const database = openDatabase({ url: testDatabase.url, poolSize: 1, program: 'test' });
  const create = () =>
    database.$transaction((tx) => tx.account.create({ data: { id: newUuid(), name: newUuid() } }));
  try {
    await database.$executeRawUnsafe('SET default_transaction_read_only = on');
    await expect(create()).rejects.toThrow('read-only');
    await create();
    const [timeout] = await database.callFunction('SHOW statement_timeout', []);
    expect(timeout).toBe('30s');
  } finally {
    await database.$disconnect();
    await testDatabase.drop();
  }
});
