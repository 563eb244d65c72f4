import { createTestDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import { openDatabase, type Database } from '../database.js';
import { postgresReaders } from './backlog.js';
import { kept } from './kept.js';
import { WorkerMetrics } from './metrics.js';

const TIMES = { freshMs: 100, patienceMs: 100, knownMs: 400 };
/** A look that ends when the test says so, at a time that it tells. */
function slow() {
  const begun: ((value: string | Error) => void)[] = [];
  const read = () =>
    new Promise<string>((resolve, reject) =>
      begun.push((value) => (typeof value === 'string' ? resolve(value) : reject(value))),
    );
  const clock = { now: 0 };
  return { begun, clock, look: kept(read, TIMES, () => clock.now) };
}

test('a look that takes too long is waited for no longer, and none begins beside it', async () => {
  const { begun, look } = slow();
  // It never ends: to wait for it would be to wait for ever.
  expect(await Promise.all([look(), look()])).toEqual([null, null]);
  expect(await look()).toBeNull();
  expect(begun).toHaveLength(1);
});

test('what a slow look brought is told while the next one takes as long, but not for ever', async () => {
  const { begun, clock, look } = slow();
  expect(await look()).toBeNull();
  begun[0]!('first');
  expect(await look()).toBe('first');
  clock.now += 150;
  expect(await look()).toBe('first');
  expect(begun).toHaveLength(2);
  clock.now += 300;
  expect(await look()).toBeNull();
  begun[1]!('second');
  expect(await look()).toBe('second');
  expect(begun).toHaveLength(2);
});

test('a look that fails makes what was known unknown', async () => {
  const { begun, clock, look } = slow();
  const first = look();
  begun[0]!('first');
  expect(await first).toBe('first');
  clock.now += 150;
  const second = look();
  begun[1]!(new Error('away'));
  expect(await second).toBeNull();
});

describe('with a table that somebody has locked', () => {
  let test_: TestDatabase;
  let db: Database;
  beforeAll(async () => {
    test_ = await createTestDatabase();
    db = openDatabase({ url: test_.url, poolSize: 4, program: 'test' });
  });
  afterAll(async () => {
    await db.$disconnect();
    await test_.drop();
  });

  test('metrics come in time, with what waits for no lock', async () => {
    const keeping = { messageDays: 90, eventDays: 60, deliveryDays: 30, contentHours: 24 };
    const metrics = new WorkerMetrics({ inFlight: () => 3, ...postgresReaders(db, keeping) });
    const text = await db.$transaction(
      async (tx) => {
        await tx.$executeRaw`LOCK TABLE outbox`;
        const since = performance.now();
        const seen = await metrics.registry.metrics();
        // Prometheus waits no longer; what waits for the lock does so until this transaction is given up.
        expect(performance.now() - since).toBeLessThan(10_000);
        return seen;
      },
      { timeout: 20_000 },
    );
    expect(text).toMatch(/gwk_database_size_bytes [1-9]/);
    expect(text).toContain('gwk_send_queue_age_seconds Nan\n');
    expect(text).toContain('gwk_webhook_calls_in_flight 3\n');
  });
});
