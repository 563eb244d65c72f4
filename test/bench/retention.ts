import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openDatabase, type Database } from '@gwk/api/database/database';
import { partitionsJob } from '@gwk/api/jobs/partitions';
import { loop } from '@gwk/api/platform/job';
import { createLogger } from '@gwk/core/process/log';
import type { LoadOptions, LoadResult } from './accept/load.js';
import { setStage, type Stage } from './accept/stage.js';
import { checkGatewaySums } from './accept/sums.js';
import { progress, Table } from './shared/table.js';

/**
 * Measures sends while a million messages, events and deliveries expire: the load of bench-accept on `gwk api`, alone
 * and beside the worker's partition job, in turns. The job drops one partition at a time with pauses. All three are
 * dropped during the measurement, one in each third, so the table also shows thirds. Rows are written first; the
 * measurement waits until Postgres has flushed them to disk.
 */
const ROWS = Number(process.env['ROWS'] ?? 1_000_000);
const ROUNDS = Number(process.env['ROUNDS'] ?? 5);
const MEASURE_MS = Number(process.env['SECONDS'] ?? 30) * 1_000;
const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 16);
const WARM_UP = 5_000;
const RAMP_MS = 500;
const INSTANCES = 20;
const CONVERSATIONS = 1_000;
/** Size of a received message, encrypted. */
const DATA_BYTES = 500;
const OPTIONS = { messageDays: 90, eventDays: 90, deliveryDays: 90 };
const EXPIRED_DAYS = 91;
/** Ratio of p99 during expiry to p99 without. */
const CONDITION = { atMost: 1.2 };
const LOAD = fileURLToPath(new URL('./accept/load.js', import.meta.url));

interface Round extends LoadResult {
  /** Duration of each partition drop. */
  dropMs?: number[];
}

const stage = await setStage({
  instances: INSTANCES,
  withoutSync: process.env['SYNC'] === 'off',
  nodeArguments: [],
});
const db = openDatabase({ url: stage.databaseUrl, poolSize: 2, program: 'bench' });
try {
  await measure();
} finally {
  await db.$disconnect();
  await stage.stop();
}

async function measure(): Promise<void> {
  const warmUp = await load(stage, { run: 0, maxRequests: WARM_UP, measureMs: 60_000 });
  const quiet: Round[] = [];
  const busy: Round[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    await fill(db);
    quiet.push(await load(stage, { run: 2 * round, measureMs: MEASURE_MS }));
    progress(line('alone', quiet.at(-1)!));
    const [result, dropMs] = await Promise.all([
      load(stage, { run: 2 * round + 1, measureMs: MEASURE_MS }),
      expire(),
    ]);
    busy.push({ ...result, dropMs });
    progress(line('expiring', busy.at(-1)!));
  }
  print(quiet, busy);
  await checkGatewaySums(stage.databaseUrl, [warmUp, ...quiet, ...busy]);
}

function print(quiet: Round[], busy: Round[]): void {
  const table = new Table(
    `sends while ${ROWS} messages, events and deliveries each expire, ${ROUNDS} rounds each of ` +
      `${MEASURE_MS / 1000} s, ${CONNECTIONS} connections`,
  );
  const row = (name: string, rounds: Round[], pick: (round: Round) => number, digits = 0) =>
    table.rounds(name, rounds.map(pick), digits);
  for (const [name, rounds] of [
    ['alone', quiet],
    ['expiring', busy],
  ] as const) {
    row(`${name}: accepted/s`, rounds, (r) => r.perSecond);
    row(`${name}: p50 ms`, rounds, (r) => r.p50, 1);
    row(`${name}: p99 ms`, rounds, (r) => r.p99, 1);
    row(`${name}: slowest ms`, rounds, (r) => r.slowest);
  }
  for (const [index, name] of ['messages', 'events', 'deliveries'].entries())
    row(`${name} dropped in, ms`, busy, (r) => r.dropMs![index]!);
  const thirds = (rounds: Round[]) => rounds.flatMap(({ p99OfWindows }) => p99OfWindows.slice(0, 3));
  table.rounds('alone: p99 per third, ms', thirds(quiet), 1);
  table.rounds('expiring: p99 per third, ms', thirds(busy), 1);
  const ratios = busy.map(({ p99 }, index) => p99 / quiet[index]!.p99);
  table.rounds('ratio of p99, expiring to alone', ratios, 2, CONDITION);
  const ofThirds = thirds(busy).map((p99, index) => p99 / thirds(quiet)[index]!);
  table.rounds('ratio of p99 per third, expiring to alone', ofThirds, 2);
  table.print();
}

/** Fills an expired day with rows. */
async function fill(database: Database): Promise<void> {
  const day = new Date(Date.now() - EXPIRED_DAYS * 86_400_000).toISOString().slice(0, 10);
  await database.$executeRawUnsafe(
    `SELECT gwk_ensure_partitions(parent, '${day}', '${day}') FROM unnest(ARRAY['messages', 'events', 'webhook_deliveries']) AS parent`,
  );
  const account = await database.account.findFirstOrThrow();
  const statement = async (sql: string) => {
    await database.$transaction(
      async (tx) => {
        await tx.$executeRawUnsafe(`SET LOCAL statement_timeout = 0`);
        await tx.$executeRawUnsafe(sql);
      },
      { timeout: 600_000 },
    );
  };
  const id = (n: string) => `overlay(gwk_lowest_id('${day}'::date::timestamp AT TIME ZONE 'UTC'
    + ${n} * interval '80 milliseconds')::text PLACING lpad(to_hex(${n}), 12, '0') FROM 25 FOR 12)::uuid`;
  await statement(
    `INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status, wa_message_id,
       created_at, sent_at, delivered_at, read_at, updated_at)
     SELECT ${id('n')}, '${account.id}', md5('instance ' || n % ${INSTANCES})::uuid,
       md5('conversation ' || n % ${CONVERSATIONS})::uuid, 'outbound', '55119' || lpad((n % ${CONVERSATIONS})::text, 8, '0'),
       'text', 'read', '3EB0' || upper(left(md5(n::text), 18)), '${day}', '${day}', '${day}', '${day}', '${day}'
     FROM generate_series(1, ${ROWS}) AS n`,
  );
  await statement(
    `INSERT INTO events (id, account_id, type, "timestamp", data_sealed)
     SELECT ${id('n')}, '${account.id}', 'message.received', '${day}', decode(repeat(md5(n::text), ${Math.ceil(DATA_BYTES / 16)}), 'hex')
     FROM generate_series(1, ${ROWS}) AS n`,
  );
  await statement(
    `INSERT INTO webhook_deliveries (id, account_id, endpoint_id, event_id, event_type, status, attempts, created_at)
     SELECT ${id('n')}, '${account.id}', '${account.id}', ${id('n')}, 'message.received', 'succeeded', 1, '${day}'
     FROM generate_series(1, ${ROWS}) AS n`,
  );
  await database.$executeRawUnsafe('CHECKPOINT');
}

/** @returns the duration of each partition drop, ms */
async function expire(): Promise<number[]> {
  const ends = performance.now() + RAMP_MS + MEASURE_MS;
  await sleep(RAMP_MS + MEASURE_MS / 6);
  const log = createLogger('bench', 'warn');
  const job = partitionsJob({ db, log }, OPTIONS);
  const stopping = new AbortController();
  const dropMs: number[] = [];
  const pass = async () => {
    const began = performance.now();
    const result = await job.pass();
    if (result.amount > 0) dropMs.push(performance.now() - began);
    if (dropMs.length === 3) stopping.abort();
    return result;
  };
  const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(Math.ceil(ends - performance.now()))]);
  await loop({ ...job, pass }, { log, signal });
  if (dropMs.length !== 3 || performance.now() > ends)
    throw new Error(`${dropMs.length} of 3 partitions were dropped during the measurement: increase SECONDS`);
  return dropMs;
}

async function load(
  { subjects, instances, apiKeys }: Stage,
  run: Pick<LoadOptions, 'run' | 'measureMs' | 'maxRequests'>,
): Promise<LoadResult> {
  const options: LoadOptions = {
    port: subjects[1].port,
    connections: CONNECTIONS,
    windowMs: MEASURE_MS / 3,
    rampMs: RAMP_MS,
    instances,
    apiKeys,
    conversations: CONVERSATIONS,
    ...run,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [LOAD, JSON.stringify(options)]);
  return JSON.parse(stdout) as LoadResult;
}

function line(name: string, { perSecond, p50, p99, slowest, dropMs }: Round): string {
  const result =
    dropMs === undefined ? '' : `   dropped in ${dropMs.map((ms) => ms.toFixed(0)).join(', ')} ms`;
  return `${name.padEnd(9)} ${perSecond.toFixed(0).padStart(6)} /s   p50 ${p50.toFixed(1).padStart(5)} ms   p99 ${p99
    .toFixed(1)
    .padStart(6)} ms   slowest ${slowest.toFixed(0).padStart(5)} ms${result}`;
}
