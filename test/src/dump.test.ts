import { makeWorld, type World } from '@gwk/api/testing/world';
import { TestApi } from '@gwk/api/testing/api';
import type { ApiClient } from '@gwk/api/testing/client';
import { migrate, pendingNow } from '@gwk/api/migrate';
import { openDatabase } from '@gwk/api/database';
import { Doorbell } from '@gwk/api/messages/accept/doorbell';
import { closeRedis, openRedis } from '@gwk/api/redis';
import { partitionSweep } from '@gwk/api/worker/sweeps/partitions';
import { fromPublicId, newUuid } from '@gwk/core/ids';
import { createLogger } from '@gwk/core/log';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { MessageOut } from '@gwk/core/resources/message';
import { Sealer } from '@gwk/core/sealing';
import { startPostgres } from '@gwk/local/servers/postgres';
import type { RunningServer } from '@gwk/local/servers/process';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { rowsOf, schemaOf } from './harness/database-content.js';
import { query } from './harness/database.js';
import { describeWithWholePostgres, neededPostgres } from './harness/postgres-programs.js';
import { blocksOfPage } from './harness/readme.js';
import { redisPrefix, redisUrl } from './harness/servers.js';

const PARENTS = ['messages', 'events', 'webhook_deliveries'];
const DAYS_KEPT = 90;

/** The commands of docs/operate.md that have this program in them, as they stand there. */
function commandsWith(program: string): string {
  const [block, ...others] = blocksOfPage('operate.md', 'sh').filter((text) => text.includes(`${program} `));
  if (block === undefined || others.length > 0)
    throw new Error(`not one place with ${program} in operate.md`);
  return block;
}

/** A server with a database `gwk` that belongs to a role `gwk`, which is no superuser; and an administrator. */
class Place {
  readonly folder = mkdtempSync(join(tmpdir(), 'gwk-dump-'));
  readonly programs = neededPostgres();
  #server: RunningServer | undefined;

  async start(): Promise<void> {
    this.#server = await startPostgres({
      dataDir: join(this.folder, 'postgres'),
      logFile: join(this.folder, 'postgres.log'),
      password: 'test',
      sharedBuffersMb: 128,
      programs: this.programs,
      withoutSync: true,
    });
    await query(this.#server.url, `CREATE ROLE administrator SUPERUSER LOGIN PASSWORD 'test'`);
    await query(this.url('administrator', 'postgres'), 'ALTER ROLE gwk RENAME TO first_user');
    await query(this.url('administrator', 'postgres'), `CREATE ROLE gwk LOGIN PASSWORD 'test'`);
    await query(this.url('administrator', 'postgres'), 'CREATE DATABASE gwk OWNER gwk');
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  url(user: string, database: string): string {
    const url = new URL(this.#server!.url);
    url.username = user;
    url.pathname = `/${database}`;
    return url.href;
  }

  /** What it says on the way, where it fails. */
  type(commands: string): void {
    const addresses = {
      DATABASE_URL: this.url('gwk', 'gwk'),
      ADMIN_URL: this.url('administrator', 'postgres'),
    };
    const env = { ...this.programs.env, ...addresses };
    const done = spawnSync('sh', ['-e'], { cwd: this.folder, env, input: commands, encoding: 'utf8' });
    if (done.status !== 0)
      throw new Error(`${commands}\n${done.stdout}\n${done.stderr || done.error?.message}`);
  }
}

/** Copies of a table's only row, each at an age of its own, for which there may be no partition. */
const copies = (table: string, ages: readonly number[], texts: string): string => `
  INSERT INTO ${table} SELECT (jsonb_populate_record(one, jsonb_build_object(
    'id', gwk_lowest_id(now() - age * interval '1 day' + n * interval '1 millisecond')${texts}))).*
  FROM (SELECT t FROM ${table} t LIMIT 1) AS source (one), unnest(ARRAY[${ages.join()}]) age, generate_series(1, 5) n`;

/** Characters that a dump has to escape. */
const ODD = String.raw`E'back\\slash, "quotes", \t, \n, \\., \\N, ação 🙂'`;

/** Three months of days, rows in some of them and in the default partitions, and sealed bytes of all values. */
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
     ARRAY(SELECT DISTINCT gwk_day_of(m.id) FROM messages m WHERE m.conversation_id = v.id ORDER BY 1)`,
  );
  await query(
    url,
    `INSERT INTO session_keys (instance_id, type, key, value_sealed)
     SELECT id, 'session', n || ${ODD}, '\\x${bytes.toString('hex')}' FROM instances, generate_series(1, 20) n`,
  );
}

describeWithWholePostgres('a gateway whose database is dumped and restored as docs/operate.md says', () => {
  let place: Place;
  let first: TestApi;
  let world: World;
  let client: ApiClient;
  let second: TestApi | undefined;
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
    place = new Place();
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

    place.type(commandsWith('pg_dump'));
    place.type(commandsWith('pg_restore'));
  }, 180_000);
  afterAll(async () => {
    await second?.stop();
    await place?.stop();
  }, 60_000);

  test('has each row of each table again', async () => {
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
    // Three days of the past, today, and the default one.
    for (const parent of PARENTS)
      expect(names.filter((name) => name.startsWith(parent)).length).toBeGreaterThanOrEqual(5);
    expect(await rowsOf(url())).toEqual(before.rows);
    // The former database is aside, and whole.
    expect(await rowsOf(place.url('gwk', 'gwk_before'))).toEqual(before.rows);
  }, 60_000);

  test('has the same tables, partitions, indexes, constraints, functions and settings, of the same role', async () => {
    expect(before.schema['partitions']!.length).toBeGreaterThan(3 * DAYS_KEPT);
    expect(before.schema['functions']!.length).toBeGreaterThan(20);
    const after = await schemaOf(url());
    for (const [name, lines] of Object.entries(before.schema))
      expect([name, after[name]]).toEqual([name, lines]);
    const owners = new Set(after['functions']!.map((line) => line.split(' | ')[0]));
    expect([...owners]).toEqual(['gwk']);
  }, 60_000);

  test('has no migration to wait for, and none to apply', async () => {
    expect(await pendingNow(url())).toEqual([]);
    expect(await migrate(url())).toEqual([]);
    expect(await schemaOf(url())).toEqual(before.schema);
  }, 60_000);

  test('reads what was written before, and accepts messages from the same key', async () => {
    second = await api({ GWK_SEALING_KEYS: first.sealingKeys });
    client = second.client(client.apiKey);
    const read = await client.call<MessageOut>('GET', `/v1/messages/${written.id}`);
    expect([read.status, read.body.to]).toEqual([200, written.to]);
    const sent = await send('after the restore', '5511987650002');
    expect(sent.status).toBe(202);
    // Their contents are sealed: the engine is given both in the clear.
    const engine = await second.engine(world.ids['instance_id']!);
    const claimed = JSON.stringify(await engine.call('claims', { claim_id: newUuid(), limit: 10 }));
    expect(claimed).toContain('before the dump');
    expect(claimed).toContain('after the restore');
    const today = new Date().toISOString().slice(0, 10).replaceAll('-', '');
    const id = fromPublicId('message', sent.body.id)!;
    expect(await numberOf(`SELECT count(*) FROM messages_${today} WHERE id = '${id}'`)).toBe(1);
  }, 60_000);

  test('makes the days that come, and drops those whose time is over', async () => {
    await query(url(), `SELECT gwk_ensure_partitions('messages', current_date - 95, current_date - 94)`);
    const ahead = () =>
      numberOf(`SELECT count(*) FROM pg_inherits WHERE inhparent IN ('messages'::regclass, 'events'::regclass,
        'webhook_deliveries'::regclass) AND substring(inhrelid::regclass::text FROM '[0-9]{8}$') > to_char(now(), 'YYYYMMDD')`);
    const old = () =>
      numberOf(`SELECT count(*) FROM gwk_expired_partitions('messages', current_date - ${DAYS_KEPT})`);
    await query(
      url(),
      `SELECT gwk_drop_partition(format('events_%s', to_char(current_date + 7, 'YYYYMMDD')), 8388608, 0)`,
    );
    expect([await ahead(), await old()]).toEqual([20, 2]);
    await sweep();
    expect([await ahead(), await old()]).toEqual([21, 0]);
    // Those that are long over were in the default one.
    expect(await numberOf('SELECT count(*) FROM messages_default')).toBe(0);
  }, 60_000);

  async function numberOf(sql: string): Promise<number> {
    const connection = new pg.Client({ connectionString: url() });
    await connection.connect();
    const { rows } = await connection.query<[string]>({ text: sql, rowMode: 'array' });
    await connection.end();
    return Number(rows[0]![0]);
  }

  async function sweep(): Promise<void> {
    const log = createLogger('sweep', 'silent');
    const db = openDatabase({ url: url(), poolSize: 2, program: 'test' });
    const redis = openRedis({ url: redisUrl(), program: 'test', log });
    const sealer = new Sealer([{ id: '0123456789abcdef', key: randomBytes(32) }]);
    const deps = { db, sealer, doorbell: new Doorbell(redis, new RedisKeys(prefix)), log };
    const kept = { messageDays: DAYS_KEPT, eventDays: DAYS_KEPT, deliveryDays: DAYS_KEPT };
    try {
      await partitionSweep(deps, kept).pass();
    } finally {
      closeRedis(redis);
      await db.$disconnect();
    }
  }
});
