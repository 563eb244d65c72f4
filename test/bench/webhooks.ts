import pg from 'pg';
import { query } from '../support/servers/database.js';
import { until } from '../support/wait.js';
import { median } from './shared/statistics.js';
import { processorTimes } from './shared/processor.js';
import { progress, setting, Table } from './shared/table.js';
import type { Received } from './webhooks/receiver-program.js';
import { buildEvent, setStage, type BenchEndpoint, type Stage } from './webhooks/stage.js';

/**
 * `make bench-webhooks`: deliveries per second of one `gwk worker` to a receiver that responds at once, alone and
 * beside dead endpoints. The floor of the same rounds is a bare undici loop with one UPDATE per delivery. Half of the
 * dead endpoints accept connections and never respond; the others refuse them. Each has as many deliveries as a live
 * one.
 *
 * Settings: `DELIVERIES` per round, `ROUNDS`, `LIVE`, `DEAD`, `BYTES` per event.
 */
const DELIVERIES = setting('DELIVERIES', 9_000);
const ROUNDS = setting('ROUNDS', 5);
const LIVE = setting('LIVE', 18);
const DEAD = setting('DEAD', 2);
const BYTES = setting('BYTES', 500);
/** Default of the worker (docs/configuration.md). */
const PER_ENDPOINT = 10;
const EACH = Math.ceil(DELIVERIES / LIVE);
const COUNT = EACH * LIVE;
const LIMIT_MS = 120_000;
const TO_FLOOR = { atLeast: 1 };
const BESIDE_DEAD = { atLeast: 0.9 };

interface Round {
  perSecond: number;
  /** Microseconds of CPU time per delivery: the program, and Postgres. */
  program: number;
  postgres: number;
}

const stage = await setStage({
  live: LIVE,
  dead: DEAD,
  perEndpoint: PER_ENDPOINT,
  bytes: BYTES,
  nodeArguments: process.env['PROFILE'] ? ['--cpu-prof', `--cpu-prof-dir=${process.env['PROFILE']}`] : [],
});
try {
  await measure(stage);
} finally {
  await stage.stop();
}

async function measure(stage: Stage): Promise<void> {
  const floor: Round[] = [];
  const alone: Round[] = [];
  const beside: Round[] = [];
  // The first round warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    progress(round === 0 ? 'warm-up' : `round ${round} of ${ROUNDS}`);
    const turns = [
      async () => floor.push(await floorRound(stage)),
      async () => alone.push(await workerRound(stage, [])),
      async () => beside.push(await workerRound(stage, stage.dead)),
    ];
    // Alternates the order.
    for (const turn of round % 2 === 0 ? turns : turns.reverse()) await turn();
  }
  for (const rounds of [floor, alone, beside]) rounds.shift();
  print(floor, alone, beside);
  await checkSums(stage);
}

/**
 * Resets the state before each measurement. No earlier work is left, and after this checkpoint the first change of each
 * page logs the whole page for every subject alike.
 */
async function clear({ db, floorUrl, receiver }: Stage): Promise<void> {
  await receiver.ask('forget');
  await db.$executeRaw`DELETE FROM webhook_queue`;
  await db.$executeRaw`UPDATE webhook_endpoints SET failing_since = NULL, last_failed_at = NULL`;
  await query(floorUrl, 'TRUNCATE deliveries');
  await query(floorUrl, 'CHECKPOINT');
}

async function floorRound(stage: Stage): Promise<Round> {
  const { floor, floorUrl, receiver, receiverUrl, servers } = stage;
  await clear(stage);
  const client = new pg.Client({ connectionString: floorUrl });
  await client.connect();
  const body = JSON.stringify({
    type: 'webhook.test',
    timestamp: new Date().toISOString(),
    data: buildEvent(BYTES),
  });
  await client.query(
    `INSERT INTO deliveries (url, body, status)
     SELECT $1 || '/floor/' || n % $4::integer, $2, 'pending' FROM generate_series(1, $3::integer) AS n`,
    [receiverUrl, body, COUNT, LIVE],
  );
  // Autovacuum has not yet analyzed the table, so it would be planned as empty.
  await client.query('ANALYZE deliveries');
  await client.end();
  return timed({ pid: floor.pid, postgres: servers.postgres.process?.pid }, async () => {
    await floor.ask('run');
    return checkReceived(receiver.ask<Received>('look'));
  });
}

async function workerRound(stage: Stage, dead: BenchEndpoint[]): Promise<Round> {
  const { db, live, receiver, worker, servers } = stage;
  await clear(stage);
  const endpoints = live.map(({ endpointId }) => endpointId);
  // All deliveries are due at the same moment, after the inserts.
  const write = db.$transaction(
    async (tx) => {
      for (const { accountId, dataSealed } of [...dead, ...live]) {
        await tx.$executeRaw`
          SELECT gwk_emit(jsonb_agg(jsonb_build_object('id', gwk_new_id(), 'account_id', ${accountId}::uuid,
            'type', 'webhook.test', 'by_default', true, 'at', now(),
            'data', ${Buffer.from(dataSealed).toString('base64')}::text)), '{}')::text
          FROM generate_series(1, ${EACH}::integer)`;
      }
    },
    { timeout: LIMIT_MS },
  );
  await write;
  return timed({ pid: worker.pid!, postgres: servers.postgres.process?.pid }, async () => {
    await until(async () => (await receiver.ask<Received>('look')).ids === COUNT, {
      what: 'the receiver has received all',
      timeoutMs: LIMIT_MS,
      everyMs: 20,
    });
    await until(
      async () => {
        const left = await db.webhookQueueEntry.findFirst({ where: { endpointId: { in: endpoints } } });
        return left === null;
      },
      { what: 'all results are recorded', timeoutMs: LIMIT_MS, everyMs: 5 },
    );
    const end = Date.now();
    return { ...(await checkReceived(receiver.ask<Received>('look'))), end };
  });
}

async function checkReceived(received: Promise<Received>): Promise<{ first: number; end: number }> {
  const end = Date.now();
  const { calls, ids, first } = await received;
  if (calls !== COUNT || ids !== COUNT)
    throw new Error(`the receiver got ${calls} calls for ${ids} events, expected ${COUNT}`);
  return { first, end };
}

/**
 * @param run returns the time of the first call and of the last recorded result. The time before the first call does
 * not count.
 */
async function timed(
  { pid, postgres }: { pid: number; postgres: number | undefined },
  run: () => Promise<{ first: number; end: number }>,
): Promise<Round> {
  const roots = { program: pid, postgres };
  const before = processorTimes(roots);
  const { first, end } = await run();
  const seconds = (end - first) / 1000;
  const after = processorTimes(roots);
  const used = (part: string) => ((after.get(part) ?? 0) - (before.get(part) ?? 0)) / COUNT;
  return { perSecond: COUNT / seconds, program: used('program'), postgres: used('postgres') };
}

function print(floor: Round[], alone: Round[], beside: Round[]): void {
  const table = new Table(
    `${COUNT} deliveries to ${LIVE} endpoints in each of ${ROUNDS} rounds, ${DEAD} dead ones beside them in the last`,
  );
  const rate = (rounds: Round[]) => rounds.map(({ perSecond }) => perSecond);
  const part = (rounds: Round[], name: 'program' | 'postgres') => median(rounds.map((round) => round[name]));
  const ratios = (of: Round[], to: Round[]) => of.map((round, i) => round.perSecond / to[i]!.perSecond);
  table.rounds('floor: deliveries/s', rate(floor));
  table.rounds('gwk worker: deliveries/s', rate(alone));
  table.rounds('gwk worker beside dead ones: deliveries/s to live ones', rate(beside));
  table.rounds('ratio to the floor', ratios(alone, floor), 2, TO_FLOOR);
  table.rounds('ratio with dead ones to without', ratios(beside, alone), 2, BESIDE_DEAD);
  for (const [name, rounds] of [
    ['floor', floor],
    ['gwk worker', alone],
    ['gwk worker beside dead ones', beside],
  ] as const) {
    table.row(`${name}: us of CPU per delivery, program and Postgres`, [
      part(rounds, 'program').toFixed(0),
      part(rounds, 'postgres').toFixed(0),
    ]);
  }
  table.print();
}

/** Checks that the log has each delivery exactly once. Each round has checked the receiver. */
async function checkSums({ db, live }: Stage): Promise<void> {
  const endpointId = { in: live.map(({ endpointId }) => endpointId) };
  const succeeded = await db.webhookDelivery.count({
    where: { endpointId, status: 'succeeded', attempts: 1 },
  });
  const expected = 2 * (ROUNDS + 1) * COUNT;
  if (succeeded !== expected) throw new Error(`the log has ${succeeded} deliveries, expected ${expected}`);
  console.log(`\nthe log has all ${expected} deliveries, each delivered once`);
}
