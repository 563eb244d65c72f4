import { ensureBinaries } from '../../support/kubernetes/binaries.js';
import { pause, until } from '../../support/wait.js';
import { loseNodes, upgrade } from './events.js';
import { Load } from './load.js';
import { OperatorBench, type Usage } from './stage.js';

/**
 * Measures operator and API with many Instances (INSTANCES, default 10,000), on a real API server with simulated nodes.
 * All programs share the machine, so the measured times include all of them. CPU times and counts do not depend on it.
 */
const COUNT = Number(process.env['INSTANCES'] ?? 10_000);
const REST_SECONDS = Number(process.env['REST_SECONDS'] ?? 60);
const CHANGES = 100;
const AT_ONCE = 8;
const SAY_EVERY_MS = 30_000;

type Say = (line: string) => void;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

export async function amongMany(say: Say): Promise<void> {
  const found = await ensureBinaries(say);
  if ('missing' in found) throw new Error(found.missing);
  const bench = await OperatorBench.start(COUNT);
  try {
    await converge(bench, say);
    await rest(bench, say);
    await changes(bench, say);
    await failOver(bench, say);
    await upgrade(bench, say, COUNT);
    await loseNodes(bench, say, COUNT);
  } finally {
    await bench.stop();
  }
}

async function converge(bench: OperatorBench, say: Say): Promise<void> {
  const load = new Load(bench.pids);
  const began = performance.now();
  const timer = setInterval(
    () => say(`  ${bench.readyNames.size} are ready after ${seconds(performance.now() - began)}`),
    SAY_EVERY_MS,
  );
  try {
    let next = 0;
    const create = async (): Promise<void> => {
      while (next < COUNT) await bench.create(`n${next++}`);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, create));
    const created = performance.now() - began;
    await until(() => bench.readyNames.size === COUNT, bench.wait('all are ready'));
    const ready = performance.now() - began;
    say(`${COUNT} Instances created in ${seconds(created)}, all ready after ${seconds(ready)}`);
  } finally {
    clearInterval(timer);
  }
  say(`  CPU: ${load.describe()}`);
  say(`  operator: ${memory(bench.usage())}`);
  await sayCalls(bench, say);
}

async function sayCalls(bench: OperatorBench, say: Say): Promise<void> {
  const calls = [...(await bench.calls())].sort((a, b) => b[1] - a[1]);
  const reconciles = await bench.reconciles();
  const total = sum(calls.map(([, count]) => count));
  say(
    `  ${reconciles} reconciles; calls of the Kubernetes API: ${(total / COUNT).toFixed(1)} for an Instance, ${(countWrites(new Map(calls)) / COUNT).toFixed(1)} of them writes`,
  );
  for (const [name, count] of calls) say(`    ${name}: ${count}`);
}

async function rest(bench: OperatorBench, say: Say): Promise<void> {
  // Wait until the last writes are done.
  let last = -1;
  await until(async () => last === (last = countWrites(await bench.calls())), {
    ...bench.wait('the cluster is quiet'),
    everyMs: 5000,
  });
  const [calls, reconciles, observed] = [
    await bench.calls(),
    await bench.reconciles(),
    await observations(bench),
  ];
  const load = new Load(bench.pids);
  await pause(REST_SECONDS * 1000);
  const written = countWrites(await bench.calls()) - countWrites(calls);
  const reconciled = (await bench.reconciles()) - reconciles;
  const calledApi = (await observations(bench)) - observed;
  const both = load.share('operator', 'API');
  say(`at rest for ${REST_SECONDS} s: ${memory(bench.usage())} (goal: 300 MB), ${written} writes (goal: 0)`);
  say(`  CPU: ${load.shares()}; operator and API ${both.toFixed(1)} % (goal: 20 %)`);
  say(
    `  ${(reconciled / REST_SECONDS).toFixed(1)} reconciles/s, ${calledApi} calls of observe; API: ${load.memory('API')}`,
  );
  const { used, total, external } = await bench.heap();
  say(`  heap: ${used.toFixed(0)} of ${total.toFixed(0)} MB in use; ${external.toFixed(0)} MB outside of it`);
  const [operator, api] = [await bench.metrics(), await bench.gateway.metrics()];
  say(`  series: ${operator.samples.length} of the operator, ${api.samples.length} of the API`);
}

/** `observe` calls that the API has answered. */
const observations = async (bench: OperatorBench): Promise<number> =>
  (await bench.gateway.metrics()).value('gwk_internal_call_duration_seconds_count', {
    route: '/operator/observe',
    status: '200',
  }) ?? 0;

const memory = ({ rss, peak, own }: Usage): string =>
  `${megabytes(rss)} MB resident, ${megabytes(peak)} at most so far, ${megabytes(own)} of them its own`;
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0);
const sum = (counts: number[]): number => counts.reduce((total, count) => total + count, 0);

/** Does not count renewals of the leader lease. */
function countWrites(calls: Map<string, number>): number {
  return sum([...calls].filter(([name]) => !/^(GET|WATCH)|leases/.test(name)).map(([, count]) => count));
}

async function changes(bench: OperatorBench, say: Say): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < CHANGES; i++)
    times.push(await bench.changeSeen(`n${Math.floor((i * COUNT) / CHANGES)}`));
  say(`a change of a resource is in its status after ${quantiles(times)}`);
  const moved: number[] = [];
  for (let i = 0; i < CHANGES; i++) {
    // Start at a random time: otherwise each change would directly follow an observation and wait the longest.
    await pause(Math.random() * 1000);
    // Each twice, away and back: the next parts wait until all are connected.
    moved.push(await bench.moveSeen(`n${Math.floor((Math.floor(i / 2) * 2 * COUNT) / CHANGES)}`));
  }
  say(`a disconnect or reconnect is in the status after ${quantiles(moved)}`);
}

function quantiles(times: number[]): string {
  times.sort((a, b) => a - b);
  const at = (share: number) => `${times[Math.ceil(share * times.length) - 1]!.toFixed(0)} ms`;
  return `${at(0.5)} (median), ${at(0.99)} (p99; goal: 1000 ms)`;
}

/** Starts an operator with empty caches, as after an upgrade. */
async function failOver(bench: OperatorBench, say: Say): Promise<void> {
  await bench.stopOperator();
  const began = performance.now();
  await bench.startOperator();
  await until(async () => (await bench.reconciles()) >= COUNT, bench.wait('all were reconciled'));
  const took = seconds(performance.now() - began);
  say(`another operator reconciled all of them ${took} after its start: ${memory(bench.usage())}`);
}
