import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { LoadOptions, LoadResult } from './accept/load.js';
import { setStage, type Stage, type Subject } from './accept/stage.js';
import { checkFloorSums, checkGatewaySums } from './accept/sums.js';
import { condition, type Bound } from './shared/condition.js';
import { median } from './shared/statistics.js';
import { processorTimes } from './shared/processor.js';
import { progress, Table } from './shared/table.js';

/**
 * Measures POST /v1/messages (`gwk api` with every check on) against a floor (accept/floor.ts) in the same run on the
 * same servers. The load (accept/traffic.ts) comes from a separate process.
 */
const INSTANCES = 20;
const CONVERSATIONS = 1_000;
const ROUNDS = Number(process.env['ROUNDS'] ?? 5);
const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 64);
/** Number of warm-up requests for each subject. */
const WARM_UP = Number(process.env['WARM_UP'] ?? 30_000);
const WARM_UP_LIMIT_MS = 120_000;
const RAMP_MS = 500;
const MEASURE_MS = Number(process.env['SECONDS'] ?? 8) * 1_000;
/** Bounds of the ratio to the floor: required and desired. Latency is measured at half of the top rate. */
const [CONDITION, GOAL] = [{ atLeast: 0.8 }, { atLeast: 0.9 }];
const P99_MS = { atMost: 25 };
const LOAD = fileURLToPath(new URL('./accept/load.js', import.meta.url));

interface Round extends LoadResult {
  /** Microseconds of CPU time per request, by part. */
  processor: Map<string, number>;
}

const stage = await setStage({
  instances: INSTANCES,
  withoutSync: process.env['SYNC'] === 'off',
  nodeArguments: process.env['PROFILE'] ? ['--cpu-prof', `--cpu-prof-dir=${process.env['PROFILE']}`] : [],
});
try {
  await measure(stage);
} finally {
  await stage.stop();
}

async function measure(stage: Stage): Promise<void> {
  progress(`warm-up: ${WARM_UP} requests each`);
  const warmUps = [];
  for (const subject of stage.subjects) {
    warmUps.push(
      await runLoad(stage, subject, { run: 0, measureMs: WARM_UP_LIMIT_MS, maxRequests: WARM_UP }),
    );
  }
  const rounds: Record<Subject['name'], Round[]> = { floor: [], gwk: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const subject of stage.subjects) {
      progress(`${subject.name}, round ${round + 1} of ${ROUNDS}`);
      const run = { run: round + 1, measureMs: MEASURE_MS };
      rounds[subject.name].push(await runLoad(stage, subject, run));
    }
  }
  const { floor, gwk } = rounds;
  await checkFloorSums(stage.floorUrl, [warmUps[0]!, ...floor]);
  await stage.endFloor();
  const half = await atHalfOf(median(gwk.map(perSecond)), stage, stage.subjects[1]);
  print({ floor, gwk, half });
  await checkGatewaySums(stage.databaseUrl, [warmUps[1]!, ...gwk, ...half]);
}

async function atHalfOf(top: number, stage: Stage, gwk: Subject): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const run = { run: ROUNDS + round + 1, measureMs: MEASURE_MS, perSecond: top / 2 };
    progress(`half of the top rate, round ${round + 1} of ${ROUNDS}`);
    rounds.push(await runLoad(stage, gwk, run));
  }
  return rounds;
}

async function runLoad(
  stage: Stage,
  { name, port, program }: Subject,
  run: Pick<LoadOptions, 'run' | 'measureMs' | 'maxRequests' | 'perSecond'>,
): Promise<Round> {
  const options: LoadOptions = {
    port,
    connections: CONNECTIONS,
    rampMs: RAMP_MS,
    instances: stage.instances,
    apiKeys: stage.apiKeys,
    conversations: CONVERSATIONS,
    ...run,
  };
  const roots = {
    [name]: program.pid,
    postgres: stage.postgres.process?.pid,
    redis: stage.redis.process?.pid,
  };
  const before = processorTimes(roots);
  const { stdout } = await promisify(execFile)(process.execPath, [LOAD, JSON.stringify(options)]);
  const after = processorTimes(roots);
  const result = JSON.parse(stdout) as LoadResult;
  const all = Object.values(result.statuses).reduce((sum, count) => sum + count, 0);
  const processor = new Map([...after].map(([part, used]) => [part, (used - before.get(part)!) / all]));
  return { ...result, processor };
}

function perSecond(round: Round): number {
  return round.perSecond;
}

function print(all: Record<'floor' | 'gwk' | 'half', Round[]>): void {
  const title =
    `POST /v1/messages: ${ROUNDS} rounds of ${MEASURE_MS / 1000} s after ${WARM_UP} requests, ` +
    `${CONNECTIONS} connections; half: gwk at half of the top rate`;
  const parts = ['program', 'Postgres', 'Redis'].map((part) => `${part} us`);
  const single = new Table(`${title}; CPU time per request`, ['requests/s', 'p50 ms', 'p99 ms', ...parts]);
  const table = new Table(title);
  for (const [name, rounds] of Object.entries(all)) {
    for (const [index, round] of rounds.entries()) {
      const times = [...round.processor.values()].map((us) => us.toFixed(0));
      const latencies = [round.p50, round.p99].map((ms) => ms.toFixed(1));
      single.row(`${name} ${index + 1}`, [round.perSecond.toFixed(0), ...latencies, ...times]);
    }
    medians(table, name, rounds, name === 'half' ? P99_MS : undefined);
  }
  ratios(table, all);
  single.print();
  table.print();
}

function medians(table: Table, name: string, rounds: Round[], p99?: Bound): void {
  table.rounds(`${name}: requests/s`, rounds.map(perSecond));
  table.rounds(
    `${name}: p50 ms`,
    rounds.map(({ p50 }) => p50),
    1,
  );
  table.rounds(
    `${name}: p99 ms`,
    rounds.map((round) => round.p99),
    1,
    p99,
  );
  for (const part of rounds[0]?.processor.keys() ?? [])
    table.rounds(
      `${name}: us of CPU per request, ${part}`,
      rounds.map(({ processor }) => processor.get(part)!),
    );
}

function ratios(table: Table, { floor, gwk }: Record<'floor' | 'gwk', Round[]>): void {
  const ratio = median(gwk.map(perSecond)) / median(floor.map(perSecond));
  const single = gwk.map((round, index) => round.perSecond / floor[index]!.perSecond);
  const cells = [ratio.toFixed(2), '', ''];
  table.row('requests/s, ratio of the medians', [...cells, condition(ratio, CONDITION)]);
  table.row('  as wished', [...cells, condition(ratio, GOAL)]);
  table.rounds('requests/s, ratio of single rounds', single, 2);
}
