import { newUuid } from '@gwk/core/ids/ids';
import { inFakeTime } from '@gwk/test/support/fake-time';
import { createTestDatabase, query } from '@gwk/test/support/servers/database';
import { Prisma } from '../generated/prisma/client.js';
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

test('reads values as Prisma does, in any time zone of the process', async () => {
  const testDatabase = await createTestDatabase();
  const database = openDatabase({ url: testDatabase.url, poolSize: 1, program: 'test' });
  const zone = process.env['TZ'];
  process.env['TZ'] = 'America/Sao_Paulo';
  try {
    const values = Prisma.sql`
      SELECT timestamp '2026-07-02 03:04:05.678' AS "at", timestamptz '2026-07-02 03:04:05+02' AS "zoned",
        NULL::timestamp AS "never", ARRAY[true, false] AS "flags", ARRAY['a', NULL] AS "texts",
        ${['01a22404-60eb-7149-a6eb-81dd61339c62', null]}::uuid[] AS "ids", ${7}::integer AS "number",
        ${'{"a":1}'}::jsonb AS "json"`;
    const rows = await database.queryRows<{ at: Date }>(values);
    expect(rows[0]!.at.toISOString()).toBe('2026-07-02T03:04:05.678Z');
    expect(rows).toEqual(await database.$queryRaw(values));
    const bytes = [null, Buffer.from([0, 255]), Buffer.alloc(0)];
    expect(await database.queryRows(Prisma.sql`SELECT unnest(${bytes}::bytea[]) AS "bytes"`)).toEqual(
      bytes.map((value) => ({ bytes: value })),
    );
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
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

test(
  'keeps an idle connection for 30 s',
  inFakeTime(async (pass) => {
    const testDatabase = await createTestDatabase();
    const database = openDatabase({ url: testDatabase.url, poolSize: 1, program: 'test' });
    const findProcess = () => database.callFunction('SELECT pg_backend_pid()', []);
    try {
      const first = await findProcess();
      await pass(29_000);
      expect(await findProcess()).toEqual(first);
      await pass(31_000);
      expect(await findProcess()).not.toEqual(first);
    } finally {
      await database.$disconnect();
      await testDatabase.drop();
    }
  }),
);
