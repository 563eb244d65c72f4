import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '@gwk/test/harness/database';
import pg from 'pg';
import { migrate } from './migrate.js';

let database: TestDatabase;
let folder: string;

beforeEach(async () => {
  database = await createEmptyDatabase();
  folder = mkdtempSync(join(tmpdir(), 'migrations-'));
});

afterEach(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

function write(name: string, sql: string): void {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, 'migration.sql'), sql);
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

test('applies what is new, in the order of names, once', async () => {
  write('2_second', 'INSERT INTO a VALUES (1)');
  write('1_first', 'CREATE TABLE a (n int)');
  expect(await migrate(database.url, folder)).toEqual(['1_first', '2_second']);
  write('3_third', 'INSERT INTO a VALUES (2)');
  expect(await migrate(database.url, folder)).toEqual(['3_third']);
  expect(await migrate(database.url, folder)).toEqual([]);
  expect(await query('SELECT n FROM a ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
});

test('several at once apply each migration once', async () => {
  write('1_first', 'CREATE TABLE a (n int); INSERT INTO a VALUES (1)');
  const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url, folder)));
  expect(applied.flat()).toEqual(['1_first']);
  expect(await query('SELECT n FROM a')).toHaveLength(1);
});

test('a migration that fails leaves nothing of itself and stops the next run, naming it', async () => {
  write('1_first', 'CREATE TABLE a (n int); SELECT 1/0');
  await expect(migrate(database.url, folder)).rejects.toThrow(/1_first: division by zero/);
  expect(await query("SELECT to_regclass('a') AS a")).toEqual([{ a: null }]);
  await expect(migrate(database.url, folder)).rejects.toThrow(/1_first failed before/);
});

test('a migration changed after it was applied is refused', async () => {
  write('1_first', 'CREATE TABLE a (n int)');
  await migrate(database.url, folder);
  write('1_first', 'CREATE TABLE a (n bigint)');
  await expect(migrate(database.url, folder)).rejects.toThrow(/1_first was changed/);
});

test('the migrations of this version leave every one of them finished', async () => {
  const migrated = await createTestDatabase();
  try {
    const rows = await query('SELECT 1 FROM _prisma_migrations WHERE finished_at IS NULL', migrated.url);
    expect(rows).toEqual([]);
    expect(await migrate(migrated.url)).toEqual([]);
  } finally {
    await migrated.drop();
  }
});
