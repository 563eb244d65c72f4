import { makeWorld, type World } from '../support/api/world.js';
import { TestApi } from '../support/api/test-api.js';
import type { ApiClient } from '../support/api/client.js';
import { migrate, listPendingMigrations } from '@gwk/api/database/migrate';
import { openDatabase } from '@gwk/api/database/database';
import { SendNotifier } from '@gwk/api/messages/send-notifier';
import { closeRedis, openRedis } from '@gwk/api/platform/redis';
import type { FakeEngine } from '../support/api/fake-engine.js';
import { FolderStore } from '@gwk/api/media/store/folder-store';
import { mediaFileRemovalJob } from '@gwk/api/jobs/retention';
import { partitionsJob } from '@gwk/api/jobs/partitions';
import type { JobDependencies } from '@gwk/api/jobs/dependencies';
import { fromPublicId, newUuid, parseUuidTime } from '@gwk/core/ids/ids';
import { createLogger } from '@gwk/core/process/log';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { MessageOut } from '@gwk/core/resources/message';
import { Sealer } from '@gwk/core/crypto/encryption';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { rowsOf, schemaOf } from './database-content.js';
import { query } from '../support/servers/database.js';
import { messagesOnUnknownDays } from '../support/servers/days.js';
import { PostgresPlace } from '../support/servers/postgres-place.js';
import { describeWithWholePostgres } from '../support/servers/postgres-programs.js';
import { readPageCommands } from '../support/readme.js';
import { redisPrefix, redisUrl } from '../support/servers/servers.js';
import { until } from '../support/wait.js';

const PARENTS = ['messages', 'events', 'webhook_deliveries'];
const DAYS_KEPT = 90;

/** The commands of docs/operate.md that contain this program, verbatim. */
const commandsWith = (program: string): string => readPageCommands('operate.md', `${program} `);

/** Copies the only row of a table to different ages, for some of which no partition exists. */
const copies = (table: string, ages: readonly number[], texts: string): string => `
  INSERT INTO ${table} SELECT (jsonb_populate_record(one, jsonb_build_object(
    'id', gwk_lowest_id(now() - age * interval '1 day' + n * interval '1 millisecond')${texts}))).*
  FROM (SELECT t FROM ${table} t LIMIT 1) AS source (one), unnest(ARRAY[${ages.join()}]) age, generate_series(1, 5) n`;

/** Characters that a dump has to escape. */
const ODD = String.raw`E'back\\slash, "quotes", \t, \n, \\., \\N, ação 🙂'`;

/**
 * Three months of daily partitions, rows in some of them and in the default partitions, and encrypted bytes of all
 * values.
 */
async function fill(url: string, bytes: Buffer): Promise<void> {
  await query(
    url,
    `SELECT gwk_ensure_partitions(parent, (now() AT TIME ZONE 'UTC')::date - ${DAYS_KEPT}, (now() AT TIME ZONE 'UTC')::date)
     FROM unnest(ARRAY['${PARENTS.join(`','`)}']) AS parent`,
  );
  const ages = [0, 1, 30, 89, 400];
  const texts = `, 'error_message', ${ODD}, 'wa_message_id', 'WA' || age || n`;
  await query(url, copies('messages', ages, texts));
  await query(url, copies('events', ages, ''));
  await query(url, copies('webhook_deliveries', ages, `, 'last_error', ${ODD}`));
  await query(
    url,
    `UPDATE conversations v SET days =
     ARRAY(SELECT DISTINCT gwk_id_day(m.id) FROM messages m WHERE m.conversation_id = v.id ORDER BY 1)`,
  );
  await query(
    url,
    `INSERT INTO session_keys (instance_id, type, key, value_sealed)
     SELECT id, 'session', n || ${ODD}, '\\x${bytes.toString('hex')}' FROM instances, generate_series(1, 20) n`,
  );
}

describeWithWholePostgres('a gateway database that is dumped and restored by docs/operate.md', () => {
  let place: PostgresPlace;
  let first: TestApi;
  let world: World;
  let client: ApiClient;
  let second: TestApi | undefined;
  let engine: FakeEngine;
  let written: MessageOut;
  let before: { rows: Record<string, string>; schema: Record<string, string[]> };
  const prefix = redisPrefix();
  const url = () => place.url('gwk', 'gwk');
  const api = (settings: Record<string, string> = {}) =>
    TestApi.start({ databaseUrl: url(), redisUrl: redisUrl(), redisPrefix: prefix, settings });
  const send = (text: string, to: string) =>
    client.call<MessageOut>('POST', '/v1/messages', {
      body: { instance_id: world.ids['instance_id'], to, type: 'text', text: { body: text } },
    });

  beforeAll(async () => {
    place = new PostgresPlace();
    await place.start();
    await migrate(url());
    first = await api();
    world = await makeWorld(first, await first.account());
    client = world.client;
    const engine = await first.engine(world.ids['instance_id']!);
    await engine.connect();
    written = (await send('before the dump', '5511987650001')).body;
    await first.stop();
    await fill(url(), Buffer.from(Array.from({ length: 1024 }, (_, i) => i % 256)));
    before = { rows: await rowsOf(url()), schema: await schemaOf(url()) };

    await place.type(commandsWith('pg_dump'));
    await place.type(commandsWith('pg_restore'));
  });
  afterAll(async () => {
    await second?.stop();
    await place?.stop();
  });

  test('has each row of each table', async () => {
    const withRows = Object.entries(before.rows).filter(([, sum]) => !sum.startsWith('0 rows'));
    const names = withRows.map(([table]) => table);
    expect(names).toEqual(
      expect.arrayContaining([
        'accounts',
        'conversations',
        'message_contents',
        'outbox',
        'session_keys',
        'media',
      ]),
    );
    expect(names).toEqual(expect.arrayContaining(['instance_leases', 'engine_tokens', '_prisma_migrations']));
    // Partitions of three days of the past and of today, and the default partition.
    for (const parent of PARENTS)
      expect(names.filter((name) => name.startsWith(parent)).length).toBeGreaterThanOrEqual(5);
    // The commands raise the positions of later events.
    const { event_position_shift: shift, ...rows } = await rowsOf(url());
    const { event_position_shift: shiftBefore, ...rowsBefore } = before.rows;
    expect(rows).toEqual(rowsBefore);
    expect(shift).not.toBe(shiftBefore);
    // The former database is kept under another name, and is complete.
    expect(await rowsOf(place.url('gwk', 'gwk_before'))).toEqual(before.rows);
  });

  test('has the same tables, partitions, indexes, constraints, functions and settings, owned by the same role', async () => {
    expect(before.schema['partitions']!.length).toBeGreaterThan(3 * DAYS_KEPT);
    expect(before.schema['functions']!.length).toBeGreaterThan(20);
    const after = await schemaOf(url());
    for (const [name, lines] of Object.entries(before.schema))
      expect([name, after[name]]).toEqual([name, lines]);
    const owners = new Set(after['functions']!.map((line) => line.split(' | ')[0]));
    expect([...owners]).toEqual(['gwk']);
  });

  test('has no pending migration', async () => {
    expect(await listPendingMigrations(url())).toEqual([]);
    expect(await migrate(url())).toEqual([]);
    expect(await schemaOf(url())).toEqual(before.schema);
  });

  test('reads messages from before the dump, and accepts messages with the same key', async () => {
    second = await api({ GWK_ENCRYPTION_KEYS: first.encryptionKeys });
    client = second.client(client.apiKey);
    const read = await client.call<MessageOut>('GET', `/v1/messages/${written.id}`);
    expect([read.status, read.body.to]).toEqual([200, written.to]);
    const sent = await send('after the restore', '5511987650002');
    expect(sent.status).toBe(202);
    // Their contents are encrypted. The engine receives both decrypted.
    engine = await second.engine(world.ids['instance_id']!);
    const claimed = JSON.stringify(await engine.claim(10));
    expect(claimed).toContain('before the dump');
    expect(claimed).toContain('after the restore');
    const id = fromPublicId('message', sent.body.id)!;
    const day = new Date(parseUuidTime(id)).toISOString().slice(0, 10).replaceAll('-', '');
    expect(await numberOf(`SELECT count(*) FROM messages_${day} WHERE id = '${id}'`)).toBe(1);
  });

  test('creates partitions of coming days, and drops expired ones', async () => {
    const today = await breakPartitions();
    await job();
    await expectDays(today);
    // Rows that expired long ago were in the default partition.
    expect(await numberOf('SELECT count(*) FROM messages_default')).toBe(0);
  });

  test('removes files that were stored after the backup', async () => {
    const folder = join(place.folder, 'media');
    const [referenced, unreferenced] = [
      await valueOf<string>('SELECT store_key FROM media LIMIT 1'),
      newUuid(),
    ];
    for (const key of [referenced, unreferenced]) {
      mkdirSync(join(folder, key.slice(-2), key), { recursive: true });
      writeFileSync(join(folder, key.slice(-2), key, 'file'), 'sealed');
    }
    await place.type(commandsWith('store_removals'), { GWK_MEDIA_FOLDER: folder });
    await withJobs((deps) => mediaFileRemovalJob(deps, new FolderStore(folder)).pass());
    expect([referenced, unreferenced].map((key) => existsSync(join(folder, key.slice(-2), key)))).toEqual([
      true,
      false,
    ]);
  });

  describe('and is dumped during traffic', () => {
    /** Messages that were accepted before the dump began. */
    let known: string[];
    let today: string;
    let log: string;
    const statuses = new Set<number>();
    let during = 0;

    beforeAll(async () => {
      today = await breakPartitions();
      const answered: string[] = [];
      let over = false;
      const sender = async (name: number) => {
        for (let i = 0; !over; i++) {
          const { status, body } = await send(`under load ${name} ${i}`, `551198766000${name}`);
          statuses.add(status);
          if (status === 202) answered.push(fromPublicId('message', body.id)!);
        }
      };
      const left: string[] = [];
      const leaves = async () => {
        while (!over) left.push(...(await leave()));
      };
      const traffic = Promise.all([sender(1), sender(2), sender(3), sender(4), leaves()]);
      // pg_dump locks tables in the order of their creation. While it waits for this table, it has its snapshot and
      // all other locks.
      const holder = new pg.Client({ connectionString: url() });
      await holder.connect();
      await holder.query('CREATE TABLE made_last ()');
      await holder.query('BEGIN; LOCK TABLE made_last');
      let dump: Promise<void> | undefined;
      try {
        await until(() => answered.length > 50 && left.length > 0, {
          what: 'messages are accepted, and some leave',
        });
        known = [...answered];
        dump = place.type(commandsWith('pg_dump'));
        await until(
          async () =>
            (await numberOf(
              `SELECT count(*) FROM pg_locks WHERE relation = 'made_last'::regclass AND NOT granted`,
            )) > 0,
          { what: 'the dump has locked all tables' },
        );
        const before = answered.length;
        log = await job();
        during = answered.length - before;
        await holder.query('COMMIT');
        await dump;
      } finally {
        over = true;
        await holder.end();
        await Promise.all([traffic, dump]);
      }
      await second!.stop();
      second = undefined;
      await query(place.url('administrator', 'postgres'), 'DROP DATABASE gwk_before');
      await place.type(commandsWith('pg_restore'));
    });

    test('accepts sends, and defers partitions', () => {
      expect([...statuses]).toEqual([202]);
      expect(during).toBeGreaterThan(0);
      const waiting = [...log.matchAll(/"table":"(\w+)".*table in use/g)].map(([, table]) => table);
      expect(waiting).toEqual(expect.arrayContaining(['events', 'messages']));
    });

    test('has each message that was accepted before, with its content, queued or sent', async () => {
      const list = known.map((id) => `('${id}'::uuid)`).join();
      const lost = `FROM (VALUES ${list}) AS k (id) LEFT JOIN messages m USING (id)
        LEFT JOIN message_contents c ON c.message_id = k.id LEFT JOIN outbox o ON o.message_id = k.id
        WHERE m.id IS NULL OR c.message_id IS NULL OR (o.message_id IS NOT NULL) = (m.status = 'sent')`;
      expect(await numberOf(`SELECT count(*) ${lost}`)).toBe(0);
      const sent = `SELECT count(*) FROM messages WHERE status = 'sent' AND id IN (SELECT * FROM (VALUES ${list}) AS k)`;
      expect(await numberOf(sent)).toBeGreaterThan(0);
    });

    test.each([
      ['outbox', 'message_id', 'messages'],
      ['message_contents', 'message_id', 'messages'],
      ['messages', 'conversation_id', 'conversations'],
      ['webhook_deliveries', 'event_id', 'events'],
      ['webhook_queue', 'delivery_id', 'webhook_deliveries'],
    ])('%s has no row whose %s is not in %s', async (table, column, other) => {
      expect(await numberOf(`SELECT count(*) FROM ${table}`)).toBeGreaterThan(0);
      const orphans = `SELECT count(*) FROM ${table} t WHERE NOT EXISTS (SELECT FROM ${other} o WHERE o.id = t.${column})`;
      expect(await numberOf(orphans)).toBe(0);
    });

    test('lists all messages, and creates and drops partitions', async () => {
      const db = openDatabase({ url: url(), poolSize: 1, program: 'test' });
      expect(await messagesOnUnknownDays(db)).toEqual([]);
      await db.$disconnect();
      await job();
      await expectDays(today);
    });
  });

  /** Drops the partition of a coming day, and adds two expired ones. */
  async function breakPartitions(): Promise<string> {
    const today = await valueOf<string>('SELECT current_date::text');
    await query(
      url(),
      `SELECT gwk_ensure_partitions('messages', date '${today}' - 95, date '${today}' - 94)`,
    );
    const youngest = (await daysOf('events')).at(-1)!;
    await query(url(), `SELECT gwk_drop_partition('events_${youngest}', 8388608, 0)`);
    expect(await daysOf('messages')).toContain(await dayFrom(today, -95));
    expect(await daysOf('events')).not.toContain(youngest);
    return today;
  }

  /** Allows for a job that ran on the next day. */
  async function expectDays(today: string): Promise<void> {
    const ahead = await Promise.all(Array.from({ length: 8 }, (_, i) => dayFrom(today, i)));
    const oldest = await dayFrom(today, -DAYS_KEPT);
    for (const parent of PARENTS) {
      const days = await daysOf(parent);
      expect(days).toEqual(expect.arrayContaining(ahead));
      expect(days.filter((day) => day < oldest)).toEqual([]);
    }
  }

  const dayFrom = (today: string, days: number) =>
    valueOf<string>(`SELECT to_char(date '${today}' + ${days}, 'YYYYMMDD')`);

  /** Days that have partitions, oldest first. */
  const daysOf = async (parent: string) =>
    await valueOf<string[]>(`SELECT array_agg(right(relname, 8) ORDER BY relname) FROM pg_inherits
        JOIN pg_class ON oid = inhrelid WHERE inhparent = '${parent}'::regclass AND relname ~ '_[0-9]{8}$'`);

  /** Acts as an engine: claims messages, builds them, and reports them as sent. */
  async function leave(): Promise<string[]> {
    const messages = await engine.claim(10);
    if (messages.length === 0) return [];
    const ids = messages.map(({ message_id }) => message_id);
    await engine.call('built', {
      messages: ids.map((message_id) => ({ message_id, built: 'YnVpbHQ=', rendered_as: null })),
    });
    const at = new Date().toISOString();
    const outcomes = ids.map((message_id) => ({
      kind: 'sent' as const,
      message_id,
      at,
      rendered_as: null,
    }));
    await engine.call('outcomes', { outcomes });
    return ids;
  }

  async function valueOf<T>(sql: string): Promise<T> {
    const connection = new pg.Client({ connectionString: url() });
    await connection.connect();
    try {
      const { rows } = await connection.query<[T]>({ text: sql, rowMode: 'array' });
      return rows[0]![0];
    } finally {
      await connection.end();
    }
  }

  const numberOf = async (sql: string): Promise<number> => Number(await valueOf<string>(sql));

  /** @returns the log lines */
  async function job(): Promise<string> {
    const kept = { messageDays: DAYS_KEPT, eventDays: DAYS_KEPT, deliveryDays: DAYS_KEPT };
    return withJobs((deps) => partitionsJob(deps, kept).pass());
  }

  async function withJobs(pass: (deps: JobDependencies) => Promise<unknown>): Promise<string> {
    const lines: string[] = [];
    const log = createLogger('job', 'warn', { write: (line) => void lines.push(line) });
    const db = openDatabase({ url: url(), poolSize: 2, program: 'test' });
    const redis = openRedis({ url: redisUrl(), program: 'test', log });
    const sealer = new Sealer([{ id: '0123456789abcdef', key: randomBytes(32) }]);
    try {
      await pass({ db, sealer, sendNotifier: new SendNotifier(redis, new RedisKeys(prefix)), log });
      return lines.join('');
    } finally {
      closeRedis(redis);
      await db.$disconnect();
    }
  }
});
