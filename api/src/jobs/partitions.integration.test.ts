import { newUuid } from '@gwk/core/ids/ids';
import { dayThatLasts } from '@gwk/test/support/servers/midnight';
import { createLogReader } from '@gwk/test/support/log-reader';
import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import type { Database } from '../database/database.js';
import { partitionsJob, type DaysKept, type PartitionTimes } from './partitions.js';
import type { Job } from '../platform/job.js';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const options: DaysKept = { messageDays: 90, eventDays: 60, deliveryDays: 1 };
/** Waits for locks until they come, with turns an hour apart, so that a slow machine decides nothing. */
const UNHURRIED: Partial<PartitionTimes> = { lockTimeoutMs: 600_000, vacuumTimeoutMs: 600_000, turnMs: HOUR };
/** Gives up soon on locks that do not come. */
const HURRIED: Partial<PartitionTimes> = {
  lockTimeoutMs: 20,
  lockRetryMs: 1,
  vacuumTimeoutMs: 20,
  turnMs: HOUR,
};
const NO_LIMIT = { timeout: 600_000 };
const jobWith = (deps: JobWorld['deps'], times = UNHURRIED): Job => partitionsJob(deps, options, { times });
const inMs = (ms: number): Date => new Date(Date.now() + ms);
type Transaction = Parameters<Parameters<Database['$transaction']>[0]>[0];
/** The same object with one function replaced. */
const withReplaced = <T extends object>(target: T, name: string, by: unknown): T =>
  new Proxy(target, { get: (object, key) => (key === name ? by : (Reflect.get(object, key) as unknown)) });
const toDay = (date: Date): string => date.toISOString().slice(0, 10);

await dayThatLasts();

describe('partitions', () => {
  let given: JobWorld;
  beforeAll(async () => {
    given = await createJobWorld();
    // The database is a copy of one that may have been made before midnight.
    await jobWith(given.deps).pass();
    await given.world.database.$executeRawUnsafe(`DROP TABLE IF EXISTS events_${days(-2, -2)[0]}`);
  });
  afterAll(() => given.world.close());

  const listPartitions = async (parent: string): Promise<string[]> => {
    const rows = await given.world.database.$queryRaw<{ name: string }[]>`
      SELECT c.relname::text AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = ${parent}::regclass ORDER BY 1`;
    return rows.map(({ name }) => name.replace(`${parent}_`, ''));
  };
  const days = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, i) => toDay(inMs((from + i) * DAY)).replaceAll('-', ''));
  const makePartitions = (parent: string, from: number, to: number) => given.world.database.$queryRaw`
    SELECT gwk_ensure_partitions(${parent}, ${toDay(inMs(from * DAY))}::date, ${toDay(inMs(to * DAY))}::date)`;
  const idAt = async (date: Date): Promise<string> => {
    const [row] = await given.world.database.$queryRaw<{ id: string }[]>`
      SELECT gwk_lowest_id(${date.toISOString()}::timestamptz) AS id`;
    return row!.id;
  };
  const addEvent = async (date: Date, own?: string): Promise<string> => {
    const id = own ?? (await idAt(date));
    const { accountId } = given.world;
    await given.world.database.event.create({
      data: { id, accountId, type: 'webhook.test', timestamp: date, dataSealed: new Uint8Array(1) },
    });
    return id;
  };

  test('are created ahead and dropped once expired, with any number of workers', async () => {
    const { database } = given.world;
    await database.$executeRawUnsafe(`DROP TABLE events_${days(7, 7)[0]}, events_${days(6, 6)[0]}`);
    await makePartitions('events', -62, -59);
    const [expired, kept] = [await addEvent(inMs(-62 * DAY)), await addEvent(inMs(-59 * DAY))];
    const jobs = [jobWith(given.deps), jobWith(given.deps)];
    const amounts = await Promise.all(jobs.map(async (job) => (await job.pass()).amount));
    expect(amounts[0]! + amounts[1]!).toBe(4);
    expect(await listPartitions('events')).toEqual([...days(-60, -59), ...days(-1, 7), 'default']);
    const rows = await database.event.findMany({ where: { id: { in: [expired, kept] } } });
    expect(rows.map(({ id }) => id)).toEqual([kept]);
  });

  test('are dropped with a limit on each wait for a lock and on the time a lock is held', async () => {
    await makePartitions('events', -70, -70);
    const statements: string[] = [];
    const recording = given.world.database.$extends({
      query: {
        $allOperations({ args, query }) {
          // A tagged statement, or the text and values of an unsafe one.
          const { sql, values } = args as { sql?: string; values?: unknown[] };
          const [text, more] = sql === undefined ? [(args as unknown[])[0], []] : [sql, values!];
          statements.push([String(text).trim(), ...more].join(' | '));
          return query(args);
        },
      },
    }) as unknown as Database;
    await partitionsJob({ ...given.deps, db: recording }, options).pass();
    const locking = statements.filter((sql) => /^SET LOCAL|_lock\(|^LOCK TABLE|drop_partition/.test(sql));
    const partition = `events_${days(-70, -70)[0]}`;
    expect(locking).toEqual([
      'SET LOCAL idle_in_transaction_session_timeout = 5000',
      'SET LOCAL lock_timeout = 3000',
      expect.stringMatching(`^LOCK TABLE ONLY public.${partition} IN SHARE UPDATE EXCLUSIVE MODE`),
      'SET LOCAL lock_timeout = 100',
      expect.stringContaining('pg_advisory_xact_lock'),
      expect.stringMatching(`gwk_drop_partition.*${partition} \\| 8388608 \\| 9000$`),
    ]);
  });

  test('are kept while a reader holds them, and writers do not wait for that reader', async () => {
    const { database } = given.world;
    await makePartitions('events', -70, -69);
    await database.$transaction(async (reader) => {
      await reader.$queryRaw`SELECT count(*)::int FROM events`;
      let passed = false;
      const passing = jobWith(given.deps, HURRIED)
        .pass()
        .finally(() => (passed = true));
      // Each waits behind the job while the job waits for the reader, so none succeeds unless the job gives
      // up.
      while (!passed) await addEvent(new Date(), newUuid());
      expect((await passing).amount).toBe(0);
    }, NO_LIMIT);
    expect(await listPartitions('events')).toEqual(expect.arrayContaining(days(-70, -69)));
    expect((await jobWith(given.deps).pass()).amount).toBe(2);
  });

  test('are dropped later where a vacuum holds them', async () => {
    const { database } = given.world;
    const [day] = days(-80, -80);
    await makePartitions('events', -80, -80);
    for (const [holder, mode] of [
      ['vacuum', 'SHARE UPDATE EXCLUSIVE'],
      ['vacuum full', 'ACCESS EXCLUSIVE'],
    ]) {
      await makePartitions('webhook_deliveries', -5, -5);
      await database.$transaction(async (tx) => {
        await tx.$executeRawUnsafe(`LOCK TABLE events_${day!} IN ${mode} MODE -- ${holder}`);
        expect(await jobWith(given.deps, HURRIED).pass()).toEqual({ amount: 1, more: false });
      }, NO_LIMIT);
      expect(await listPartitions('events')).toContain(day);
      expect(await listPartitions('webhook_deliveries')).not.toContain(days(-5, -5)[0]);
    }
    expect((await jobWith(given.deps).pass()).amount).toBe(1);
  });

  test('are dropped although another partition cannot be dropped or another day cannot be created', async () => {
    const { database } = given.world;
    const [day, ahead] = [days(-80, -80)[0]!, days(5, 5)[0]!];
    await makePartitions('events', -80, -80);
    await makePartitions('webhook_deliveries', -5, -5);
    await database.$executeRawUnsafe(`CREATE VIEW report AS SELECT * FROM events_${day}`);
    await database.$executeRawUnsafe(`DROP TABLE messages_${ahead}`);
    await database.$executeRawUnsafe(`CREATE SEQUENCE messages_${ahead}`);
    const { log, readLines } = createLogReader();
    const failing = jobWith({ ...given.deps, log });
    for (let pass = 1; pass <= 2; pass++) await expect(failing.pass()).rejects.toThrow(AggregateError);
    // Logged once each, although the job itself would report the first error only.
    expect(readLines().map(({ step, table }) => [step, table])).toEqual([
      ['makeDays', 'messages'],
      ['dropExpired', 'events'],
    ]);
    expect(readLines()[1]!.err.message).toMatch(/depend/);
    await database.$executeRawUnsafe(`DROP SEQUENCE messages_${ahead}`);
    expect(await listPartitions('webhook_deliveries')).not.toContain(days(-5, -5)[0]);
    await database.$executeRawUnsafe(`DROP VIEW report`);

    await database.$executeRawUnsafe(`DROP TABLE events_${ahead}`);
    await database.$executeRawUnsafe(`CREATE SEQUENCE events_${ahead}`);
    const job = jobWith(given.deps);
    await expect(job.pass()).rejects.toThrow();
    expect(await listPartitions('events')).not.toContain(day);
    expect(await listPartitions('messages')).toContain(ahead);
    await database.$executeRawUnsafe(`DROP SEQUENCE events_${ahead}`);
    expect(await job.pass()).toEqual({ amount: 1, more: false });
  });

  test('are dropped although an older one is in use', async () => {
    const { database } = given.world;
    await makePartitions('events', -80, -78);
    const { log, readLines } = createLogReader();
    const job = jobWith({ ...given.deps, log }, HURRIED);
    await database.$transaction(async (tx) => {
      await tx.$executeRawUnsafe(`LOCK TABLE events_${days(-80, -80)[0]!} IN SHARE UPDATE EXCLUSIVE MODE`);
      expect(await job.pass()).toEqual({ amount: 2, more: false });
      expect(await job.pass()).toEqual({ amount: 0, more: false });
      // The job logs each wait for a table in use, so one line means that it waited once.
      expect(readLines().filter(({ msg }) => msg.includes('in use'))).toHaveLength(1);
    }, NO_LIMIT);
    expect((await listPartitions('events'))[0]).toBe(days(-80, -80)[0]);
    expect((await jobWith(given.deps).pass()).amount).toBe(1);
  });

  test.each([
    ['a year ahead', 365],
    ['a year behind', -365],
  ])('are created but not dropped by a worker whose clock is %s', async (_, ahead) => {
    const stray = await addEvent(inMs(-30 * DAY));
    const before = await listPartitions('events');
    await expect(
      partitionsJob(given.deps, options, { now: () => Date.now() + ahead * DAY, times: UNHURRIED }).pass(),
    ).rejects.toThrow(
      /^the clocks of this worker and of Postgres differ by 315\d{5} s: no partition is dropped$/,
    );
    const after = await listPartitions('events');
    expect(after).toEqual([...before, ...days(ahead - 1, ahead + 7)].sort());
    expect(await given.world.database.event.count({ where: { id: stray } })).toBe(1);
    for (const parent of ['messages', 'events', 'webhook_deliveries'])
      for (const day of days(ahead - 1, ahead + 7))
        await given.world.database.$executeRawUnsafe(`DROP TABLE ${parent}_${day}`);
  });

  test('are dropped also after a move to another schema', async () => {
    const { database } = given.world;
    await makePartitions('events', -80, -80);
    await database.$executeRawUnsafe('CREATE SCHEMA archive');
    await database.$executeRawUnsafe(`ALTER TABLE events_${days(-80, -80)[0]} SET SCHEMA archive`);
    expect(await jobWith(given.deps).pass()).toEqual({ amount: 1, more: false });
    expect(await listPartitions('events')).not.toContain(days(-80, -80)[0]);
  });

  test('are released by Postgres when a worker stalls in its transaction', async () => {
    await makePartitions('events', -80, -80);
    let reportStalled = () => {};
    const stalled = new Promise<void>((resolve) => (reportStalled = resolve));
    let resume = () => {};
    const resumed = new Promise<void>((resolve) => (resume = resolve));
    const stallAfterDrop = (tx: Transaction) =>
      withReplaced(tx, '$queryRaw', async (sql: TemplateStringsArray, ...values: unknown[]) => {
        const answer: unknown = await tx.$queryRaw(sql, ...values);
        if (!sql.join().includes('gwk_drop_partition')) return answer;
        await tx.$executeRawUnsafe('SET LOCAL idle_in_transaction_session_timeout = 1');
        reportStalled();
        await resumed;
        return answer;
      });
    const { database } = given.world;
    const frozen = withReplaced(
      database,
      '$transaction',
      (work: (tx: Transaction) => Promise<unknown>, options: object) =>
        database.$transaction((tx) => work(stallAfterDrop(tx)), options),
    );
    const passing = jobWith({ ...given.deps, db: frozen }).pass();
    await stalled;
    await addEvent(new Date(), newUuid());
    expect(await listPartitions('events')).toContain(days(-80, -80)[0]);
    resume();
    await expect(passing).rejects.toThrow();
    expect((await jobWith(given.deps).pass()).amount).toBe(1);
  });

  test('are created although the rows of another day are in the default partition', async () => {
    const { database } = given.world;
    await database.$executeRawUnsafe(`DROP TABLE events_${days(3, 3)[0]}, events_${days(4, 4)[0]}`);
    const stray = await addEvent(inMs(3 * DAY));
    await jobWith(given.deps).pass();
    const made = await listPartitions('events');
    expect(made).not.toContain(days(3, 3)[0]);
    expect(made).toContain(days(4, 4)[0]);
    expect(await database.event.count({ where: { id: stray } })).toBe(1);
  });

  test('lose expired rows, also the default one', async () => {
    const [old, young] = [await addEvent(inMs(-200 * DAY)), await addEvent(inMs(-30 * DAY))];
    await jobWith(given.deps).pass();
    const rows = await given.world.database.event.findMany({ where: { id: { in: [old, young] } } });
    expect(rows.map(({ id }) => id)).toEqual([young]);
  });

  describe('that are large', () => {
    /** 9 MB and 1 MB. */
    const [LARGE, SMALL] = [9_000, 1_000];
    const fill = async (day: number, kilobytes: number) => {
      await makePartitions('events', day, day);
      await given.world.database.$executeRawUnsafe(
        `INSERT INTO events (id, account_id, type, "timestamp", data_sealed)
         SELECT overlay(gwk_lowest_id('${toDay(inMs(day * DAY))}'::date::timestamp AT TIME ZONE 'UTC')::text
           PLACING lpad(to_hex(n), 12, '0') FROM 25 FOR 12)::uuid, '${given.world.accountId}', 'webhook.test', now(), decode(repeat('00', 900), 'hex')
         FROM generate_series(1, ${kilobytes}) AS n`,
      );
    };
    /** Pretends that the last drop was `ms` ago. */
    const setLastDrop = (ms: number) =>
      given.world.database.maintenanceTask.updateMany({ data: { doneAt: inMs(-ms) } });
    const expired = async () => (await listPartitions('events')).filter((day) => day < days(-60, -60)[0]!);

    test('are dropped one a turn, while small ones need no turn', async () => {
      await setLastDrop(DAY);
      for (const [day, size] of [
        [-68, LARGE],
        [-67, LARGE],
        [-66, SMALL],
        [-65, LARGE],
      ] as const)
        await fill(day, size);
      const job = jobWith(given.deps);
      expect(job.restMs).toBe(10_000);
      expect(await job.pass()).toEqual({ amount: 1, more: true });
      expect(await expired()).toEqual(days(-67, -65));
      await setLastDrop(HOUR / 2);
      expect(await job.pass()).toEqual({ amount: 0, more: true });
      expect(await expired()).toEqual(days(-67, -65));
      await setLastDrop(HOUR + 1);
      expect(await job.pass()).toEqual({ amount: 1, more: true });
      await setLastDrop(HOUR + 1);
      expect(await job.pass()).toEqual({ amount: 2, more: true });
      expect(await job.pass()).toEqual({ amount: 0, more: false });
      expect(await expired()).toEqual([]);
    });

    test('are dropped one a turn by all workers together', async () => {
      await setLastDrop(DAY);
      for (const day of [-68, -67, -66]) await fill(day, LARGE);
      const jobs = Array.from({ length: 3 }, () => jobWith(given.deps));
      for (const left of [2, 1, 0]) {
        const amounts: number[] = [];
        for (const job of jobs) amounts.push((await job.pass()).amount);
        expect(amounts).toEqual([1, 0, 0]);
        expect(await expired()).toHaveLength(left);
        await setLastDrop(HOUR + 1);
      }
      for (const day of [-68, -67]) await fill(day, LARGE);
      const atOnce = await Promise.all(jobs.map((job) => job.pass()));
      expect(atOnce.reduce((sum, { amount }) => sum + amount, 0)).toBe(1);
      await setLastDrop(HOUR + 1);
      expect((await jobs[0]!.pass()).amount).toBe(1);
    });

    test('are dropped although a wrong clock took a turn in the future', async () => {
      await fill(-68, LARGE);
      await setLastDrop(-365 * DAY);
      expect(await jobWith(given.deps).pass()).toEqual({ amount: 1, more: true });
      expect(await expired()).toEqual([]);
    });

    test('are dropped, one a turn, where no turn is recorded', async () => {
      await fill(-68, LARGE);
      await fill(-67, LARGE);
      await given.world.database.maintenanceTask.deleteMany();
      const job = jobWith(given.deps);
      expect(await job.pass()).toEqual({ amount: 1, more: true });
      expect(await job.pass()).toEqual({ amount: 0, more: true });
      await setLastDrop(HOUR + 1);
      expect((await job.pass()).amount).toBe(1);
    });

    test('are kept when a missing table makes the drop fail', async () => {
      const { database } = given.world;
      await fill(-68, LARGE);
      await database.$executeRawUnsafe('ALTER TABLE maintenance_tasks RENAME TO kept_up');
      await expect(jobWith(given.deps).pass()).rejects.toThrow(/maintenance_tasks/);
      await database.$executeRawUnsafe('ALTER TABLE kept_up RENAME TO maintenance_tasks');
      expect(await expired()).toHaveLength(1);
      await setLastDrop(DAY);
      expect((await jobWith(given.deps).pass()).amount).toBe(1);
    });

    test('need no new row for the first drop, because the disk may be full', async () => {
      expect(await given.world.database.maintenanceTask.findMany({ select: { task: true } })).toEqual([
        { task: 'drop a partition' },
      ]);
    });

    test('are not tried again within the hour when in use, while other tables catch up', async () => {
      const { database } = given.world;
      await setLastDrop(DAY);
      await fill(-68, LARGE);
      await makePartitions('webhook_deliveries', -5, -5);
      const { log, readLines } = createLogReader();
      const job = jobWith({ ...given.deps, log }, HURRIED);
      await database.$transaction(async (reader) => {
        await reader.$queryRaw`SELECT count(*)::int FROM events`;
        expect((await job.pass()).amount).toBe(1);
        await makePartitions('webhook_deliveries', -5, -5);
        expect((await job.pass()).amount).toBe(1);
      }, NO_LIMIT);
      expect(readLines().filter(({ msg }) => msg.includes('in use'))).toHaveLength(1);
      expect((await job.pass()).amount).toBe(0);
      expect((await jobWith(given.deps).pass()).amount).toBe(1);
    });

    test('take no turn from other tables when in use', async () => {
      const { database } = given.world;
      await setLastDrop(DAY);
      await fill(-68, LARGE);
      await makePartitions('webhook_deliveries', -5, -5);
      await database.$transaction(async (reader) => {
        await reader.$queryRaw`SELECT count(*)::int FROM events`;
        expect((await jobWith(given.deps, HURRIED).pass()).amount).toBe(1);
      }, NO_LIMIT);
      expect(await listPartitions('webhook_deliveries')).not.toContain(days(-5, -5)[0]);
      expect(await expired()).toHaveLength(1);
      expect(await jobWith(given.deps).pass()).toEqual({ amount: 1, more: true });
    });
  });
});
