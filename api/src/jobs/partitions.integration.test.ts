import { PassThrough } from 'node:stream';
import { newUuid } from '@gwk/core/ids';
import { createLogger } from '@gwk/core/log';
import { dayThatLasts } from '@gwk/test/support/servers/midnight';
import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import type { Database } from '../database/database.js';
import { partitionsJob, planPartitions, type DaysKept, type PartitionTimes } from './partitions.js';
import type { Job } from '../platform/job.js';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const options: DaysKept = { messageDays: 90, eventDays: 60, deliveryDays: 1 };
/** Locks are waited for until they come, and turns are an hour apart: nothing here is decided by a slow machine. */
const CALM: Partial<PartitionTimes> = { lockTimeoutMs: 600_000, vacuumTimeoutMs: 600_000, turnMs: HOUR };
/** For locks that do not come: they are given up soon. */
const HURRIED: Partial<PartitionTimes> = {
  lockTimeoutMs: 20,
  lockRetryMs: 1,
  vacuumTimeoutMs: 20,
  turnMs: HOUR,
};
const NO_LIMIT = { timeout: 600_000 };
const jobWith = (deps: JobWorld['deps'], times = CALM): Job => partitionsJob(deps, options, { times });
const inMs = (ms: number): Date => new Date(Date.now() + ms);
/** A logger, and what was said to it so far. */
const listen = () => {
  const lines = new PassThrough();
  const log = createLogger('job', 'warn', lines);
  const all: { msg: string; step: string; table: string; err: { message: string } }[] = [];
  const said = () => {
    const text = (lines.read() as Buffer | null)?.toString() ?? '';
    all.push(
      ...text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as (typeof all)[number]),
    );
    return all;
  };
  return { log, said };
};
type Transaction = Parameters<Parameters<Database['$transaction']>[0]>[0];
/** The same, but for one function. */
const replacing = <T extends object>(of: T, name: string, by: unknown): T =>
  new Proxy(of, { get: (target, key) => (key === name ? by : (Reflect.get(target, key) as unknown)) });
const dayOf = (date: Date): string => date.toISOString().slice(0, 10);

test('partitions are planned from yesterday to a week ahead, and kept for the days of each table', () => {
  const plans = planPartitions(new Date('2026-03-01T00:30:00Z'), options);
  expect(plans.map(({ parent, keepFrom }) => [parent, keepFrom])).toEqual([
    ['messages', '2025-12-01'],
    ['events', '2025-12-31'],
    ['webhook_deliveries', '2026-02-28'],
  ]);
  for (const { days } of plans) {
    expect(days).toEqual([28, 1, 2, 3, 4, 5, 6, 7, 8].map((day) => `2026-${day === 28 ? '02' : '03'}-${String(day).padStart(2, '0')}`)); // prettier-ignore
  }
});

await dayThatLasts();

describe('on tables', () => {
  let given: JobWorld;
  beforeAll(async () => {
    given = await createJobWorld();
    // The database is a copy of one that may have been made before midnight.
    await jobWith(given.deps).pass();
    await given.world.database.$executeRawUnsafe(`DROP TABLE IF EXISTS events_${days(-2, -2)[0]}`);
  });
  afterAll(() => given.world.close());

  const partitionsOf = async (parent: string): Promise<string[]> => {
    const rows = await given.world.database.$queryRaw<{ name: string }[]>`
      SELECT c.relname::text AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = ${parent}::regclass ORDER BY 1`;
    return rows.map(({ name }) => name.replace(`${parent}_`, ''));
  };
  const days = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, i) => dayOf(inMs((from + i) * DAY)).replaceAll('-', ''));
  const makePartitions = (parent: string, from: number, to: number) => given.world.database.$queryRaw`
    SELECT gwk_ensure_partitions(${parent}, ${dayOf(inMs(from * DAY))}::date, ${dayOf(inMs(to * DAY))}::date)`;
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

  test('partitions are made ahead and dropped when their time is over, by any number of workers', async () => {
    const { database } = given.world;
    await database.$executeRawUnsafe(`DROP TABLE events_${days(7, 7)[0]}, events_${days(6, 6)[0]}`);
    await makePartitions('events', -62, -59);
    const [gone, kept] = [await addEvent(inMs(-62 * DAY)), await addEvent(inMs(-59 * DAY))];
    const jobs = [jobWith(given.deps), jobWith(given.deps)];
    const amounts = await Promise.all(jobs.map(async (job) => (await job.pass()).amount));
    expect(amounts[0]! + amounts[1]!).toBe(4);
    expect(await partitionsOf('events')).toEqual([...days(-60, -59), ...days(-1, 7), 'default']);
    const rows = await database.event.findMany({ where: { id: { in: [gone, kept] } } });
    expect(rows.map(({ id }) => id)).toEqual([kept]);
  });

  test('bounds each wait for a lock, and the time that it holds one', async () => {
    await makePartitions('events', -70, -70);
    const statements: string[] = [];
    const noting = given.world.database.$extends({
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
    await partitionsJob({ ...given.deps, db: noting }, options).pass();
    const locking = statements.filter((sql) => /^SET LOCAL|_lock\(|lock_out_vacuum|drop_partition/.test(sql));
    const partition = `events_${days(-70, -70)[0]}`;
    expect(locking).toEqual([
      'SET LOCAL idle_in_transaction_session_timeout = 5000',
      'SET LOCAL lock_timeout = 3000',
      expect.stringMatching(`gwk_lock_out_vacuum.*${partition}$`),
      'SET LOCAL lock_timeout = 100',
      expect.stringContaining('pg_advisory_xact_lock'),
      expect.stringMatching(`gwk_drop_partition.*${partition} \\| 8388608 \\| 9000$`),
    ]);
  });

  test('behind a reader that stays, partitions wait, and others do not wait for the reader', async () => {
    const { database } = given.world;
    await makePartitions('events', -70, -69);
    await database.$transaction(async (reader) => {
      await reader.$queryRaw`SELECT count(*)::int FROM events`;
      let passed = false;
      const passing = jobWith(given.deps, HURRIED)
        .pass()
        .finally(() => (passed = true));
      // Each waits behind the job while that waits for the reader: none comes through unless the job gives up.
      while (!passed) await addEvent(new Date(), newUuid());
      expect((await passing).amount).toBe(0);
    }, NO_LIMIT);
    expect(await partitionsOf('events')).toEqual(expect.arrayContaining(days(-70, -69)));
    expect((await jobWith(given.deps).pass()).amount).toBe(2);
  });

  test('one that cannot be left alone is dropped later', async () => {
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
      expect(await partitionsOf('events')).toContain(day);
      expect(await partitionsOf('webhook_deliveries')).not.toContain(days(-5, -5)[0]);
    }
    expect((await jobWith(given.deps).pass()).amount).toBe(1);
  });

  test('one that cannot be dropped, or a day that cannot be made, keeps no other from its end', async () => {
    const { database } = given.world;
    const [day, ahead] = [days(-80, -80)[0]!, days(5, 5)[0]!];
    await makePartitions('events', -80, -80);
    await makePartitions('webhook_deliveries', -5, -5);
    await database.$executeRawUnsafe(`CREATE VIEW report AS SELECT * FROM events_${day}`);
    await database.$executeRawUnsafe(`DROP TABLE messages_${ahead}`);
    await database.$executeRawUnsafe(`CREATE SEQUENCE messages_${ahead}`);
    const { log, said } = listen();
    const failing = jobWith({ ...given.deps, log });
    for (let pass = 1; pass <= 2; pass++) await expect(failing.pass()).rejects.toThrow(AggregateError);
    // Each once, though only the first would be the job's own.
    expect(said().map(({ step, table }) => [step, table])).toEqual([
      ['makeDays', 'messages'],
      ['dropExpired', 'events'],
    ]);
    expect(said()[1]!.err.message).toMatch(/depend/);
    await database.$executeRawUnsafe(`DROP SEQUENCE messages_${ahead}`);
    expect(await partitionsOf('webhook_deliveries')).not.toContain(days(-5, -5)[0]);
    await database.$executeRawUnsafe(`DROP VIEW report`);

    await database.$executeRawUnsafe(`DROP TABLE events_${ahead}`);
    await database.$executeRawUnsafe(`CREATE SEQUENCE events_${ahead}`);
    const job = jobWith(given.deps);
    await expect(job.pass()).rejects.toThrow();
    expect(await partitionsOf('events')).not.toContain(day);
    expect(await partitionsOf('messages')).toContain(ahead);
    await database.$executeRawUnsafe(`DROP SEQUENCE events_${ahead}`);
    expect(await job.pass()).toEqual({ amount: 1, more: false });
  });

  test('one in use keeps no younger one from its end', async () => {
    const { database } = given.world;
    await makePartitions('events', -80, -78);
    const { log, said } = listen();
    const job = jobWith({ ...given.deps, log }, HURRIED);
    await database.$transaction(async (tx) => {
      await tx.$executeRawUnsafe(`LOCK TABLE events_${days(-80, -80)[0]!} IN SHARE UPDATE EXCLUSIVE MODE`);
      expect(await job.pass()).toEqual({ amount: 2, more: false });
      expect(await job.pass()).toEqual({ amount: 0, more: false });
      // Waited for once: each time that it is in use is told.
      expect(said().filter(({ msg }) => msg.includes('in use'))).toHaveLength(1);
    }, NO_LIMIT);
    expect((await partitionsOf('events'))[0]).toBe(days(-80, -80)[0]);
    expect((await jobWith(given.deps).pass()).amount).toBe(1);
  });

  test.each([
    ['a year ahead', 365],
    ['a year behind', -365],
  ])('a worker whose clock is %s ends no day, and makes those of its own', async (_, ahead) => {
    const stray = await addEvent(inMs(-30 * DAY));
    const before = await partitionsOf('events');
    await expect(
      partitionsJob(given.deps, options, { now: () => Date.now() + ahead * DAY, times: CALM }).pass(),
    ).rejects.toThrow(
      /^the clocks of this worker and of Postgres differ by 315\d{5} s: no partition is dropped$/,
    );
    const after = await partitionsOf('events');
    expect(after).toEqual([...before, ...days(ahead - 1, ahead + 7)].sort());
    expect(await given.world.database.event.count({ where: { id: stray } })).toBe(1);
    for (const parent of ['messages', 'events', 'webhook_deliveries'])
      for (const day of days(ahead - 1, ahead + 7))
        await given.world.database.$executeRawUnsafe(`DROP TABLE ${parent}_${day}`);
  });

  test('one that was moved to another schema is dropped in its time', async () => {
    const { database } = given.world;
    await makePartitions('events', -80, -80);
    await database.$executeRawUnsafe('CREATE SCHEMA archive');
    await database.$executeRawUnsafe(`ALTER TABLE events_${days(-80, -80)[0]} SET SCHEMA archive`);
    expect(await jobWith(given.deps).pass()).toEqual({ amount: 1, more: false });
    expect(await partitionsOf('events')).not.toContain(days(-80, -80)[0]);
  });

  test('Postgres takes the table from a worker that stands still with it in its hands', async () => {
    await makePartitions('events', -80, -80);
    let standing = () => {};
    const stands = new Promise<void>((resolve) => (standing = resolve));
    let goOn = () => {};
    const goesOn = new Promise<void>((resolve) => (goOn = resolve));
    const stand = (tx: Transaction) =>
      replacing(tx, '$queryRaw', async (sql: TemplateStringsArray, ...values: unknown[]) => {
        const answer: unknown = await tx.$queryRaw(sql, ...values);
        if (!sql.join().includes('gwk_drop_partition')) return answer;
        await tx.$executeRawUnsafe('SET LOCAL idle_in_transaction_session_timeout = 1');
        standing();
        await goesOn;
        return answer;
      });
    const { database } = given.world;
    const frozen = replacing(
      database,
      '$transaction',
      (work: (tx: Transaction) => Promise<unknown>, options: object) =>
        database.$transaction((tx) => work(stand(tx)), options),
    );
    const passing = jobWith({ ...given.deps, db: frozen }).pass();
    await stands;
    await addEvent(new Date(), newUuid());
    expect(await partitionsOf('events')).toContain(days(-80, -80)[0]);
    goOn();
    await expect(passing).rejects.toThrow();
    expect((await jobWith(given.deps).pass()).amount).toBe(1);
  });

  test('a day whose rows are in the default partition stops none of the others', async () => {
    const { database } = given.world;
    await database.$executeRawUnsafe(`DROP TABLE events_${days(3, 3)[0]}, events_${days(4, 4)[0]}`);
    const stray = await addEvent(inMs(3 * DAY));
    await jobWith(given.deps).pass();
    const made = await partitionsOf('events');
    expect(made).not.toContain(days(3, 3)[0]);
    expect(made).toContain(days(4, 4)[0]);
    expect(await database.event.count({ where: { id: stray } })).toBe(1);
  });

  test('rows of the default partition end with their time', async () => {
    const [old, young] = [await addEvent(inMs(-200 * DAY)), await addEvent(inMs(-30 * DAY))];
    await jobWith(given.deps).pass();
    const rows = await given.world.database.event.findMany({ where: { id: { in: [old, young] } } });
    expect(rows.map(({ id }) => id)).toEqual([young]);
  });

  describe('of those that are large', () => {
    /** 9 MB, and 1 MB. */
    const [LARGE, SMALL] = [9_000, 1_000];
    const fill = async (day: number, kilobytes: number) => {
      await makePartitions('events', day, day);
      await given.world.database.$executeRawUnsafe(
        `INSERT INTO events (id, account_id, type, "timestamp", data_sealed)
         SELECT overlay(gwk_lowest_id('${dayOf(inMs(day * DAY))}'::date::timestamp AT TIME ZONE 'UTC')::text
           PLACING lpad(to_hex(n), 12, '0') FROM 25 FOR 12)::uuid, '${given.world.accountId}', 'webhook.test', now(), decode(repeat('00', 900), 'hex')
         FROM generate_series(1, ${kilobytes}) AS n`,
      );
    };
    /** As if the last one was so long ago. */
    const rested = (ms: number) =>
      given.world.database.maintenanceTask.updateMany({ data: { doneAt: inMs(-ms) } });
    const expired = async () => (await partitionsOf('events')).filter((day) => day < days(-60, -60)[0]!);

    test('one is dropped, and after a rest the next; small ones wait for none', async () => {
      await rested(DAY);
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
      await rested(HOUR / 2);
      expect(await job.pass()).toEqual({ amount: 0, more: true });
      expect(await expired()).toEqual(days(-67, -65));
      await rested(HOUR + 1);
      expect(await job.pass()).toEqual({ amount: 1, more: true });
      await rested(HOUR + 1);
      expect(await job.pass()).toEqual({ amount: 2, more: true });
      expect(await job.pass()).toEqual({ amount: 0, more: false });
      expect(await expired()).toEqual([]);
    });

    test('any number of workers drop one between them', async () => {
      await rested(DAY);
      for (const day of [-68, -67, -66]) await fill(day, LARGE);
      const jobs = Array.from({ length: 3 }, () => jobWith(given.deps));
      for (const left of [2, 1, 0]) {
        const amounts: number[] = [];
        for (const job of jobs) amounts.push((await job.pass()).amount);
        expect(amounts).toEqual([1, 0, 0]);
        expect(await expired()).toHaveLength(left);
        await rested(HOUR + 1);
      }
      for (const day of [-68, -67]) await fill(day, LARGE);
      const atOnce = await Promise.all(jobs.map((job) => job.pass()));
      expect(atOnce.reduce((sum, { amount }) => sum + amount, 0)).toBe(1);
      await rested(HOUR + 1);
      expect((await jobs[0]!.pass()).amount).toBe(1);
    });

    test('a turn that a wrong clock took in the future holds up nobody', async () => {
      await fill(-68, LARGE);
      await rested(-365 * DAY);
      expect(await jobWith(given.deps).pass()).toEqual({ amount: 1, more: true });
      expect(await expired()).toEqual([]);
    });

    test('a turn of which nothing is known is taken, once', async () => {
      await fill(-68, LARGE);
      await fill(-67, LARGE);
      await given.world.database.maintenanceTask.deleteMany();
      const job = jobWith(given.deps);
      expect(await job.pass()).toEqual({ amount: 1, more: true });
      expect(await job.pass()).toEqual({ amount: 0, more: true });
      await rested(HOUR + 1);
      expect((await job.pass()).amount).toBe(1);
    });

    test('a table that is missing is no partition that another worker has dropped', async () => {
      const { database } = given.world;
      await fill(-68, LARGE);
      await database.$executeRawUnsafe('ALTER TABLE maintenance_tasks RENAME TO kept_up');
      await expect(jobWith(given.deps).pass()).rejects.toThrow(/maintenance_tasks/);
      await database.$executeRawUnsafe('ALTER TABLE kept_up RENAME TO maintenance_tasks');
      expect(await expired()).toHaveLength(1);
      await rested(DAY);
      expect((await jobWith(given.deps).pass()).amount).toBe(1);
    });

    test('the very first drop adds no row: that may be on a full disk', async () => {
      expect(await given.world.database.maintenanceTask.findMany({ select: { task: true } })).toEqual([
        { task: 'drop a partition' },
      ]);
    });

    test('a table in use is left alone for the hour while others catch up', async () => {
      const { database } = given.world;
      await rested(DAY);
      await fill(-68, LARGE);
      await makePartitions('webhook_deliveries', -5, -5);
      const { log, said } = listen();
      const job = jobWith({ ...given.deps, log }, HURRIED);
      await database.$transaction(async (reader) => {
        await reader.$queryRaw`SELECT count(*)::int FROM events`;
        expect((await job.pass()).amount).toBe(1);
        await makePartitions('webhook_deliveries', -5, -5);
        expect((await job.pass()).amount).toBe(1);
      }, NO_LIMIT);
      expect(said().filter(({ msg }) => msg.includes('in use'))).toHaveLength(1);
      expect((await job.pass()).amount).toBe(0);
      expect((await jobWith(given.deps).pass()).amount).toBe(1);
    });

    test('one that is in use takes no turn from those of other tables', async () => {
      const { database } = given.world;
      await rested(DAY);
      await fill(-68, LARGE);
      await makePartitions('webhook_deliveries', -5, -5);
      await database.$transaction(async (reader) => {
        await reader.$queryRaw`SELECT count(*)::int FROM events`;
        expect((await jobWith(given.deps, HURRIED).pass()).amount).toBe(1);
      }, NO_LIMIT);
      expect(await partitionsOf('webhook_deliveries')).not.toContain(days(-5, -5)[0]);
      expect(await expired()).toHaveLength(1);
      expect(await jobWith(given.deps).pass()).toEqual({ amount: 1, more: true });
    });
  });
});
