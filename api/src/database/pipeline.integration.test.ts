import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { createEmptyDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import pg from 'pg';
import { Pipeline } from './pipeline.js';

let database: TestDatabase;
let pool: pg.Pool;
let others: pg.Client;
let open: number;

beforeEach(async () => {
  database = await createEmptyDatabase();
  // With one connection, a statement that does not share it would wait.
  pool = new pg.Pool({ connectionString: database.url, max: 1, pipeline: true, application_name: 'piped' });
  open = 0;
  pool.on('connect', () => open++).on('remove', () => open--);
  others = new pg.Client({ connectionString: database.url });
  await others.connect();
  await others.query('CREATE TABLE rows (n integer PRIMARY KEY)');
});

afterEach(async () => {
  await pool.end();
  // pool.end() resolves before its connections are closed, and dropping the database would terminate them.
  while (open > 0) await once(pool, 'remove');
  await others.end();
  await database.drop();
});

const insert = (n: number) => ({
  name: 'insert',
  text: 'INSERT INTO rows VALUES ($1::integer) RETURNING n',
  values: [n],
  rowMode: 'array' as const,
});
const hold = { text: 'SELECT pg_advisory_xact_lock(7)::text', rowMode: 'array' as const };

async function isWaiting(event: string): Promise<void> {
  for (;;) {
    const { rows } = await others.query(
      `SELECT FROM pg_stat_activity WHERE application_name = 'piped' AND datname = current_database() AND wait_event = $1`,
      [event],
    );
    if (rows.length > 0) return;
  }
}

test('statements share a connection, which is released when none is running', async () => {
  const pipeline = new Pipeline();
  const answers = await Promise.all([1, 2, 3].map((n) => pipeline.query(pool, insert(n))));
  expect(answers).toEqual([[[1]], [[2]], [[3]]]);
  expect(pool).toMatchObject({ totalCount: 1, idleCount: 1 });
});

test('statements behind a slow one are already sent and run while this process is blocked', async () => {
  const pipeline = new Pipeline();
  // A thread holds the lock that the first statement waits for, and reports the row of the second one.
  const [goOn, done] = [1, 2].map(() => new Int32Array(new SharedArrayBuffer(4))) as [Int32Array, Int32Array];
  const workerData = { url: database.url, goOn, done };
  const thread = new Worker(
    `const { parentPort, workerData: { url, goOn, done } } = require('node:worker_threads');
     const { Client } = require('pg');
     (async () => {
       const client = new Client({ connectionString: url });
       await client.connect();
       await client.query('SELECT pg_advisory_lock(7)');
       parentPort.postMessage('locked');
       Atomics.wait(goOn, 0, 0);
       await client.query('SELECT pg_advisory_unlock(7)');
       while ((await client.query('SELECT FROM rows WHERE n = 1')).rowCount === 0);
       Atomics.store(done, 0, 1);
       Atomics.notify(done, 0);
       await client.end();
     })();`,
    { eval: true, workerData },
  );
  await once(thread, 'message');
  const both = Promise.all([pipeline.query(pool, hold), pipeline.query(pool, insert(1))]);
  await isWaiting('advisory');
  Atomics.store(goOn, 0, 1);
  Atomics.notify(goOn, 0);
  // This process is blocked until the row exists.
  expect(Atomics.wait(done, 0, 0, 120_000)).not.toBe('timed-out');
  expect((await both)[1]).toEqual([[1]]);
  await thread.terminate();
});

test('a failed statement is rolled back alone, and its connection is not used again', async () => {
  const pipeline = new Pipeline();
  const settled = await Promise.allSettled([1, 1, 2].map((n) => pipeline.query(pool, insert(n))));
  expect(settled).toMatchObject([
    { value: [[1]] },
    { reason: { code: '23505', constraint: 'rows_pkey' } },
    { value: [[2]] },
  ]);
  expect(pool.totalCount).toBe(0);
  expect(await pipeline.query(pool, insert(3))).toEqual([[3]]);
});

test('a statement that could not be prepared is prepared by the next connection', async () => {
  const pipeline = new Pipeline();
  const ask = () => pipeline.query(pool, { name: 'later', text: 'SELECT n FROM later', rowMode: 'array' });
  await expect(ask()).rejects.toMatchObject({ code: '42P01' });
  await others.query('CREATE TABLE later AS SELECT 5 AS n');
  expect(await ask()).toEqual([[5]]);
});

test('a lock timeout keeps the connection usable', async () => {
  const pipeline = new Pipeline();
  await others.query('SELECT pg_advisory_lock(7)');
  const briefly = (text: string) => pipeline.query(pool, { text, rowMode: 'array' });
  await briefly(`SET lock_timeout = '20ms'`);
  const [waited, behind] = await Promise.allSettled([
    pipeline.query(pool, hold),
    pipeline.query(pool, insert(1)),
  ]);
  expect(waited).toMatchObject({ reason: { code: '55P03' } });
  expect(behind).toMatchObject({ value: [[1]] });
  expect(pool).toMatchObject({ totalCount: 1, idleCount: 1 });
});

test('a broken connection fails running statements, and the next one uses another', async () => {
  const pipeline = new Pipeline();
  await others.query('SELECT pg_advisory_lock(7)');
  const running = [hold, insert(1)].map((statement) => pipeline.query(pool, statement));
  const settled = Promise.allSettled(running);
  await isWaiting('advisory');
  await others.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'piped' AND datname = current_database()`,
  );
  expect(await settled).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  expect(await pipeline.query(pool, insert(1))).toEqual([[1]]);
});

test('statements fail without a connection, and work later', async () => {
  const pipeline = new Pipeline();
  const nowhere = new pg.Pool({ connectionString: 'postgres://gwk@127.0.0.1:1/gwk', pipeline: true });
  const settled = await Promise.allSettled([1, 2].map((n) => pipeline.query(nowhere, insert(n))));
  expect(settled).toMatchObject([{ reason: { code: 'ECONNREFUSED' } }, { reason: { code: 'ECONNREFUSED' } }]);
  expect(await pipeline.query(pool, insert(1))).toEqual([[1]]);
  await nowhere.end();
});

test('passes a callback to the driver, whose own one would retain statements in the old generation', async () => {
  const given: unknown[][] = [];
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((...args: unknown[]) => {
      given.push(args);
      return query(...args);
    }) as typeof client.query;
  });
  await new Pipeline().query(pool, insert(1));
  expect(given).toEqual([[expect.objectContaining({ name: 'insert' }), expect.any(Function)]]);
});
