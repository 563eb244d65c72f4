import { execFile } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { LoadOptions, LoadResult } from './accept/load.js';
import { processorTimes } from './shared/processor.js';
import { setStage, type Stage, type Subject } from './accept/stage.js';
import { checkFloorSums, checkGatewaySums } from './accept/sums.js';

/**
 * POST /v1/messages as it runs (`gwk api`, every check on) against a floor measured in the same run on the same
 * servers: see accept/floor.ts. The load (accept/traffic.ts) comes from a process of its own.
 */
const INSTANCES = 20;
const CONVERSATIONS = 1_000;
const ROUNDS = Number(process.env['ROUNDS'] ?? 5);
const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 64);
/** Both are warm by then: the same number of requests for each. */
const WARM_UP = Number(process.env['WARM_UP'] ?? 30_000);
const WARM_UP_LIMIT_MS = 120_000;
const RAMP_MS = 500;
const MEASURE_MS = Number(process.env['SECONDS'] ?? 8) * 1_000;
/** What is asked of the accept path: times the floor, and milliseconds at half of its top rate. */
const [CONDITION, GOAL, P99_MS] = [1, 1.3, 25];
const LOAD = fileURLToPath(new URL('./accept/load.js', import.meta.url));

interface Round extends LoadResult {
  /** Microseconds of processor time for each request, by part. */
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
  console.log(`${cpus().length} x ${cpus()[0]?.model ?? 'processor'}, Node ${process.version}`);
  console.log(
    `${ROUNDS} rounds of ${MEASURE_MS / 1000} s after ${WARM_UP} requests, ${CONNECTIONS} connections, ` +
      `load of the machine ${loadavg()[0]!.toFixed(1)}\n`,
  );
  const warmUps = [];
  for (const subject of stage.subjects) {
    warmUps.push(
      await runLoad(stage, subject, { run: 0, measureMs: WARM_UP_LIMIT_MS, maxRequests: WARM_UP }),
    );
  }
  const [floor, gwk] = stage.subjects;
  const rounds = new Map<Subject, Round[]>([
    [floor, []],
    [gwk, []],
  ]);
  for (let round = 0; round < ROUNDS; round++) {
    for (const subject of stage.subjects) {
      const result = await runLoad(stage, subject, { run: round + 1, measureMs: MEASURE_MS });
      rounds.get(subject)!.push(result);
      console.log(line(`${subject.name} ${round + 1}`, result));
    }
  }
  const top = median(rounds.get(gwk)!).perSecond;
  await checkFloorSums(stage.floorUrl, [warmUps[0]!, ...rounds.get(floor)!]);
  await stage.endFloor();
  const half = await atHalfOf(top, stage, gwk);
  console.log(`\nmedians (from least to most)\n${spread('floor', rounds.get(floor)!)}`);
  console.log(`${spread('gwk', rounds.get(gwk)!)}\n${spread('half', half)}\n`);
  const ratios = rounds.get(gwk)!.map(({ perSecond }, i) => perSecond / rounds.get(floor)![i]!.perSecond);
  const ratio = top / median(rounds.get(floor)!).perSecond;
  console.log(
    `ratio of requests per second: ${ratio.toFixed(2)} (of single rounds ${range(ratios, 2)}): ` +
      (ratio >= GOAL ? 'as wished' : ratio >= CONDITION ? 'as it must be' : 'short of what it must be') +
      ` (${CONDITION.toFixed(1)}, wished ${GOAL})`,
  );
  const p99s = half.map(({ p99 }) => p99);
  const within = middle(p99s) <= P99_MS ? 'within' : 'beyond';
  console.log(`p99 at half of the top rate: ${range(p99s, 1)} ms: ${within} ${P99_MS}`);
  await checkGatewaySums(stage.databaseUrl, [warmUps[1]!, ...rounds.get(gwk)!, ...half]);
}

async function atHalfOf(top: number, stage: Stage, gwk: Subject): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const run = { run: ROUNDS + round + 1, measureMs: MEASURE_MS, perSecond: top / 2 };
    rounds.push(await runLoad(stage, gwk, run));
    console.log(line(`half ${round + 1}`, rounds.at(-1)!));
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

function line(name: string, { perSecond, p50, p99, processor }: Round): string {
  const parts = [...processor].map(([part, used]) => `${part} ${used.toFixed(0)}`).join(', ');
  return `${name.padEnd(8)} ${perSecond.toFixed(0).padStart(6)} /s   p50 ${p50.toFixed(1).padStart(5)} ms   p99 ${p99
    .toFixed(1)
    .padStart(6)} ms   us/request: ${parts}`;
}

function median(rounds: Round[]): Round {
  const of = (pick: (round: Round) => number) => middle(rounds.map(pick));
  const processor = new Map(
    [...rounds[0]!.processor.keys()].map((part) => [part, of((round) => round.processor.get(part)!)]),
  );
  return {
    ...rounds[0]!,
    perSecond: of(({ perSecond }) => perSecond),
    p50: of(({ p50 }) => p50),
    p99: of(({ p99 }) => p99),
    processor,
  };
}

/** Of an even number the mean of the two in the middle. */
function middle(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return (sorted[Math.ceil(half) - 1]! + sorted[Math.floor(half)]!) / 2;
}

/** The median, and from where to where it went. */
function range(values: number[], digits: number): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return `${middle(values).toFixed(digits)} (${least.toFixed(digits)} to ${most.toFixed(digits)})`;
}

function spread(name: string, rounds: Round[]): string {
  const of = (pick: (round: Round) => number, digits = 0) => range(rounds.map(pick), digits);
  const parts = [...median(rounds).processor.keys()].map(
    (part) => `${part} ${of(({ processor }) => processor.get(part)!)}`,
  );
  const [perSecond, p50, p99] = [
    of(({ perSecond }) => perSecond),
    of((round) => round.p50, 1),
    of((round) => round.p99, 1),
  ];
  return `${name.padEnd(6)} ${perSecond} /s   p50 ${p50} ms   p99 ${p99} ms   us/request: ${parts.join(', ')}`;
}
