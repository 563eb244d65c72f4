import pg from 'pg';
import { query } from '../support/servers/database.js';
import { until } from '../support/wait.js';
import { median } from './shared/statistics.js';
import { processorTimes } from './shared/processor.js';
import { progress, setting, Table } from './shared/table.js';
import type { Received } from './webhooks/receiver-program.js';
import { buildEvent, setStage, type BenchEndpoint, type Stage } from './webhooks/stage.js';

/**
 * `make bench-webhooks`: deliveries a second of one `gwk worker` to a receiver that answers at once, alone and beside
 * destinations that are dead, against a floor in the same rounds: a bare undici loop with one UPDATE for each delivery.
 * Half of the dead take connections and never answer, the others refuse them; each has as much to get as a live one.
 *
 * `DELIVERIES` of a round, `ROUNDS`, `LIVE`, `DEAD`, `BYTES` of an event change it.
 */
const DELIVERIES = setting('DELIVERIES', 9_000);
const ROUNDS = setting('ROUNDS', 5);
const LIVE = setting('LIVE', 18);
const DEAD = setting('DEAD', 2);
const BYTES = setting('BYTES', 500);
/** As a worker has it when nothing is said. */
const PER_DESTINATION = 10;
const EACH = Math.ceil(DELIVERIES / LIVE);
const COUNT = EACH * LIVE;
const LIMIT_MS = 120_000;
const TO_FLOOR = { atLeast: 1 };
const BESIDE_DEAD = { atLeast: 0.9 };

interface Round {
  perSecond: number;
  /** Microseconds of processor for each delivery: the program, and Postgres. */
  program: number;
  postgres: number;
}

const stage = await setStage({
  live: LIVE,
  dead: DEAD,
  perEndpoint: PER_DESTINATION,
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
    // Who begins takes turns, too.
    for (const turn of round % 2 === 0 ? turns : turns.reverse()) await turn();
  }
  for (const rounds of [floor, alone, beside]) rounds.shift();
  print(floor, alone, beside);
  await checkSums(stage);
}

/**
 * The same before each: nothing of the one before is left to do or to scan, and the first change of each page after
 * this checkpoint is logged with the whole page, whoever makes it.
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
  // A table that was empty a moment ago is planned for as such until autovacuum comes by.
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
  // All of them become due at the same moment, when this is over.
  const write = db.$transaction(
    async (tx) => {
      for (const { accountId, dataSealed } of [...dead, ...live]) {
        await tx.$executeRaw`
          SELECT gwk_emit(array_agg(gwk_new_id()), array_agg(${accountId}::uuid), array_agg(NULL::uuid),
            array_agg('webhook.test'::text), array_agg(true), array_agg(now()),
            array_agg(${new Uint8Array(dataSealed)}::bytea))
          FROM generate_series(1, ${EACH}::integer)`;
      }
    },
    { timeout: LIMIT_MS },
  );
  await write;
  return timed({ pid: worker.pid!, postgres: servers.postgres.process?.pid }, async () => {
    await until(async () => (await receiver.ask<Received>('look')).ids === COUNT, {
      what: 'the receiver has all',
      timeoutMs: LIMIT_MS,
      everyMs: 20,
    });
    await until(
      async () => {
        const left = await db.webhookQueueEntry.findFirst({ where: { endpointId: { in: endpoints } } });
        return left === null;
      },
      { what: 'all are written down', timeoutMs: LIMIT_MS, everyMs: 5 },
    );
    const end = Date.now();
    return { ...(await checkReceived(receiver.ask<Received>('look'))), end };
  });
}

async function checkReceived(received: Promise<Received>): Promise<{ first: number; end: number }> {
  const end = Date.now();
  const { calls, ids, first } = await received;
  if (calls !== COUNT || ids !== COUNT)
    throw new Error(`the receiver was called ${calls} times about ${ids} events, and not ${COUNT}`);
  return { first, end };
}

/** @param run tells when the first was called and when the last was written down: waiting for the start is no work */
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
    `${COUNT} deliveries to ${LIVE} destinations in each of ${ROUNDS} rounds, ${DEAD} dead ones beside them in the last`,
  );
  const rate = (rounds: Round[]) => rounds.map(({ perSecond }) => perSecond);
  const part = (rounds: Round[], name: 'program' | 'postgres') => median(rounds.map((round) => round[name]));
  const ratios = (of: Round[], to: Round[]) => of.map((round, i) => round.perSecond / to[i]!.perSecond);
  table.rounds('floor: deliveries/s', rate(floor));
  table.rounds('gwk worker: deliveries/s', rate(alone));
  table.rounds('gwk worker beside dead ones: deliveries/s to the live', rate(beside));
  table.rounds('ratio to the floor', ratios(alone, floor), 2, TO_FLOOR);
  table.rounds('ratio beside dead ones to without', ratios(beside, alone), 2, BESIDE_DEAD);
  for (const [name, rounds] of [
    ['floor', floor],
    ['gwk worker', alone],
    ['gwk worker beside dead ones', beside],
  ] as const) {
    table.row(`${name}: us of processor a delivery, program and Postgres`, [
      part(rounds, 'program').toFixed(0),
      part(rounds, 'postgres').toFixed(0),
    ]);
  }
  table.print();
}

/** None lost, none twice (each round has looked at the receiver), and the log says the same. */
async function checkSums({ db, live }: Stage): Promise<void> {
  const endpointId = { in: live.map(({ endpointId }) => endpointId) };
  const succeeded = await db.webhookDelivery.count({
    where: { endpointId, status: 'succeeded', attempts: 1 },
  });
  const expected = 2 * (ROUNDS + 1) * COUNT;
  if (succeeded !== expected) throw new Error(`the log has ${succeeded} deliveries, and not ${expected}`);
  console.log(`\nthe log has all ${expected} deliveries, each posted once`);
}
