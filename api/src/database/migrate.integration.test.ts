import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '@gwk/test/support/servers/database';
import { until } from '@gwk/test/support/wait';
import pg from 'pg';
import {
  listPendingMigrations,
  migrate,
  retryWhileUnavailable,
  waitForMigrations,
  type SqlFolders,
} from './migrate.js';
import { readFunctions } from './sql-functions.js';

let database: TestDatabase;
let folder: string;
let folders: SqlFolders;

beforeEach(async () => {
  database = await createEmptyDatabase();
  folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  folders = { migrations: join(folder, 'migrations'), functions: join(folder, 'src') };
  mkdirSync(folders.migrations);
  mkdirSync(folders.functions);
});

afterEach(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

function write(name: string, sql: string): void {
  mkdirSync(join(folders.migrations, name), { recursive: true });
  writeFileSync(join(folders.migrations, name, 'migration.sql'), sql);
}

async function query<T extends pg.QueryResultRow>(sql: string, url = database.url): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

test('applies new migrations once, in the order of their names', async () => {
  write('2_second', 'INSERT INTO a VALUES (1)');
  write('1_first', 'CREATE TABLE a (n int)');
  expect(await migrate(database.url, folders)).toEqual(['1_first', '2_second']);
  write('3_third', 'INSERT INTO a VALUES (2)');
  expect(await migrate(database.url, folders)).toEqual(['3_third']);
  expect(await migrate(database.url, folders)).toEqual([]);
  expect(await query('SELECT n FROM a ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
});

test('migrations have no timeout, even if the role has one', async () => {
  await query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET statement_timeout = '1h'`);
  write('1_first', "CREATE TABLE a AS SELECT current_setting('statement_timeout') AS timeout");
  await migrate(database.url, folders);
  expect(await query('SELECT timeout FROM a')).toEqual([{ timeout: '0' }]);
});

test('concurrent runs apply each migration once', async () => {
  write('1_first', 'CREATE TABLE a (n int); INSERT INTO a VALUES (1)');
  const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url, folders)));
  expect(applied.flat()).toEqual(['1_first']);
  expect(await query('SELECT n FROM a')).toHaveLength(1);
});

test('a failed migration leaves only its error, and the next run retries it', async () => {
  await query('CREATE TABLE divisors AS SELECT 0 AS n');
  write('1_first', 'CREATE TABLE a (n int); SELECT 1/n FROM divisors');
  for (let run = 0; run < 2; run++)
    await expect(migrate(database.url, folders)).rejects.toThrow(/1_first: division by zero/);
  expect(await query("SELECT to_regclass('a') AS a")).toEqual([{ a: null }]);
  await query('UPDATE divisors SET n = 1');
  expect(await migrate(database.url, folders)).toEqual(['1_first']);
  expect(await migrate(database.url, folders)).toEqual([]);
  const rows = await query('SELECT logs FROM _prisma_migrations WHERE rolled_back_at IS NULL');
  expect(rows).toEqual([{ logs: null }]);
});

test('an interrupted run does not block the next one', async () => {
  write('1_first', 'CREATE TABLE a (n int); SELECT pg_sleep(600) /* half-way */');
  const killed = expect(migrate(database.url, folders)).rejects.toThrow();
  const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%half-way%'`;
  await until(async () => (await query(kill)).length > 0, { what: 'the backend is terminated' });
  await killed;
  write('1_first', 'CREATE TABLE a (n int)');
  expect(await migrate(database.url, folders)).toEqual(['1_first']);
});

test("rejects a migration that Prisma's CLI did not finish", async () => {
  write('1_first', 'CREATE TABLE a (n int)');
  await migrate(database.url, folders);
  await query('UPDATE _prisma_migrations SET finished_at = NULL');
  await expect(migrate(database.url, folders)).rejects.toThrow(/1_first was started by another program/);
});

test('no migration ends its transaction', () => {
  const all = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));
  for (const name of readdirSync(all).filter((one) => /^\d/.test(one))) {
    const sql = readFileSync(join(all, name, 'migration.sql'), 'utf8');
    expect([name, /^\s*(BEGIN|COMMIT|ROLLBACK|START TRANSACTION)\s*;|CONCURRENTLY/im.test(sql)]).toEqual([
      name,
      false,
    ]);
  }
});

test('rejects a migration that was changed after it was applied', async () => {
  write('1_first', 'CREATE TABLE a (n int)');
  await migrate(database.url, folders);
  write('1_first', 'CREATE TABLE a (n bigint)');
  await expect(migrate(database.url, folders)).rejects.toThrow(/1_first was changed/);
});

test('all migrations of this version finish', async () => {
  const migrated = await createTestDatabase();
  try {
    const rows = await query('SELECT 1 FROM _prisma_migrations WHERE finished_at IS NULL', migrated.url);
    expect(rows).toEqual([]);
    expect(await migrate(migrated.url)).toEqual([]);
  } finally {
    await migrated.drop();
  }
});

describe('functions', () => {
  const TABLE = `CREATE TABLE sql_functions (
    name text, checksum text, applied_at timestamptz DEFAULT now(), PRIMARY KEY (name, checksum))`;
  const run = () => migrate(database.url, folders);
  const pending = () => listPendingMigrations(database.url, folders);
  const rows = async (sql: string) => (await query<{ n: number }>(sql)).map(({ n }) => n);

  function writeFunction(path: string, returns: string): void {
    const name = basename(path, '.sql');
    const body = `CREATE OR REPLACE FUNCTION gwk_${name}() RETURNS integer LANGUAGE sql AS $$ SELECT ${returns} $$;`;
    mkdirSync(dirname(join(folders.functions, path)), { recursive: true });
    writeFileSync(join(folders.functions, path), body);
  }

  beforeEach(() => write('1_first', TABLE));

  test('applies called functions before their callers, and only changed ones again', async () => {
    writeFunction('a/caller.sql', 'gwk_called() + 1');
    writeFunction('b/c/called.sql', '1');
    expect(await pending()).toEqual(['1_first', 'gwk_called', 'gwk_caller']);
    expect(await run()).toEqual(['1_first', 'gwk_called', 'gwk_caller']);
    expect(await pending()).toEqual([]);
    expect(await run()).toEqual([]);
    writeFunction('b/c/called.sql', '2');
    expect(await run()).toEqual(['gwk_called']);
    expect(await rows('SELECT gwk_caller() AS n')).toEqual([3]);
  });

  test('applies all or none of them', async () => {
    writeFunction('first.sql', '1');
    writeFunction('second.sql', 'missing_column');
    await expect(run()).rejects.toThrow(/function gwk_second: column "missing_column" does not exist/);
    expect(await rows("SELECT 1 AS n FROM pg_proc WHERE proname LIKE 'gwk_%'")).toEqual([]);
    writeFunction('second.sql', '2');
    expect(await run()).toEqual(['gwk_first', 'gwk_second']);
  });

  test('the former release keeps its functions, does not wait for them, and can apply them again', async () => {
    writeFunction('removed.sql', '1');
    writeFunction('changed.sql', '1');
    await run();
    rmSync(join(folders.functions, 'removed.sql'));
    writeFunction('changed.sql', '2');
    expect(await run()).toEqual(['gwk_changed']);
    expect(await rows('SELECT gwk_removed() + gwk_changed() AS n')).toEqual([3]);
    writeFunction('removed.sql', '1');
    writeFunction('changed.sql', '1');
    expect(await pending()).toEqual([]);
    expect(await run()).toEqual(['gwk_changed']);
    expect(await rows('SELECT gwk_changed() AS n')).toEqual([1]);
  });

  test('each file of this version defines the function of its name', () => {
    const src = fileURLToPath(new URL('..', import.meta.url));
    for (const { name, sql } of readFunctions(src)) {
      expect([...sql.matchAll(/\bFUNCTION (gwk_\w+)\(/g)].map(([, defined]) => defined)).toContain(name);
      expect(sql.match(/^CREATE (?!OR REPLACE (FUNCTION|TRIGGER))/m)).toBeNull();
    }
  });
});

describe('waiting for migrations', () => {
  const now = { timeoutMs: 0, everyMs: 10 };
  const long = { timeoutMs: 600_000, everyMs: 10 };
  const at = () => ({ url: database.url });

  test('ends when the last migration is applied', async () => {
    write('1_first', 'CREATE TABLE a (n int)');
    write('2_second', 'INSERT INTO a VALUES (1)');
    let done = false;
    const waiting = waitForMigrations(at(), long, folders).then(() => (done = true));
    await listPendingMigrations(at(), folders);
    expect(done).toBe(false);
    await migrate(database.url, folders);
    await waiting;
    expect(await query('SELECT n FROM a')).toHaveLength(1);
  });

  test('does not wait if the database has all migrations or newer ones', async () => {
    write('1_first', 'CREATE TABLE a (n int)');
    write('2_newer', 'CREATE TABLE b (n int)');
    await migrate(database.url, folders);
    rmSync(join(folders.migrations, '2_newer'), { recursive: true });
    await waitForMigrations(at(), now, folders);
  });

  test('throws after the timeout with the missing migrations', async () => {
    write('1_first', 'SELECT 1');
    await expect(waitForMigrations(at(), now, folders)).rejects.toThrow(/lacks 1_first/);
  });

  test('throws at once if a migration failed', async () => {
    write('1_first', 'SELECT 1/0');
    await expect(migrate(database.url, folders)).rejects.toThrow();
    await expect(waitForMigrations(at(), long, folders)).rejects.toThrow(/1_first failed: division by zero/);
  });

  test('waits for a running migration', async () => {
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    for (const sql of ['CREATE TABLE held (n int)', 'BEGIN', 'LOCK TABLE held']) await holder.query(sql);
    write('1_first', 'SELECT n FROM held');
    const running = migrate(database.url, folders);
    const blocked = "SELECT 1 FROM pg_locks WHERE relation = 'held'::regclass AND NOT granted";
    await until(async () => (await query(blocked)).length > 0, { what: 'the migration is running' });
    let done = false;
    const waiting = waitForMigrations(at(), long, folders).then(() => (done = true));
    expect(await listPendingMigrations(at(), folders)).toEqual(['1_first']);
    expect(done).toBe(false);
    await holder.end();
    await waiting;
    expect(await running).toEqual(['1_first']);
  });

  test('retries an unavailable Postgres until the timeout', async () => {
    const unreachable = { url: 'postgresql://gwk@127.0.0.1:1/none' };
    await expect(waitForMigrations(unreachable, { timeoutMs: 50, everyMs: 10 }, folders)).rejects.toThrow(
      /ECONNREFUSED/,
    );
    let calls = 0;
    const failing = async (): Promise<string> => {
      calls += 1;
      if (calls < 3) throw Object.assign(new Error('starting'), { code: '57P03' });
      return 'done';
    };
    expect(await retryWhileUnavailable(long, failing)).toBe('done');
    const wrong = () => Promise.reject(Object.assign(new Error('password'), { code: '28P01' }));
    await expect(retryWhileUnavailable(long, wrong)).rejects.toThrow('password');
  });
});
