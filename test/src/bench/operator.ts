import { ensureBinaries } from '../harness/kubernetes/binaries.js';
import { pause, until } from '../harness/wait.js';
import { OperatorBench } from './operator/stage.js';

/**
 * make bench-operator: the operator among very many Instances (INSTANCES, 10,000 unless set), on a real API server
 * with pods that are only said to run. The API server, etcd, the operator and this program share the machine, so the
 * time to converge is that of all of them.
 */
const COUNT = Number(process.env['INSTANCES'] ?? 10_000);
const REST_SECONDS = Number(process.env['REST_SECONDS'] ?? 60);
const CHANGES = 100;
const AT_ONCE = 8;
const LIMIT_MS = 3_600_000;

const say = (line: string): void => console.log(line);
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

async function main(): Promise<void> {
  const found = await ensureBinaries(say);
  if ('missing' in found) throw new Error(found.missing);
  const bench = await OperatorBench.start();
  try {
    await converge(bench);
    await rest(bench);
    await changes(bench);
  } finally {
    await bench.stop();
  }
}

async function converge(bench: OperatorBench): Promise<void> {
  const began = performance.now();
  let next = 0;
  const create = async (): Promise<void> => {
    while (next < COUNT) await bench.create(`n${next++}`);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, create));
  const created = performance.now() - began;
  await until(() => bench.readyNames.size === COUNT, {
    what: 'all are ready',
    timeoutMs: LIMIT_MS,
    everyMs: 100,
  });
  const { rss, cpu } = bench.usage();
  const calls = await bench.calls();
  const total = [...calls.values()].reduce((sum, count) => sum + count, 0);
  say(
    `${COUNT} Instances created in ${seconds(created)}, all ready after ${seconds(performance.now() - began)}`,
  );
  say(
    `  operator: ${(rss / 1e6).toFixed(0)} MB, ${cpu.toFixed(1)} s of processor, ${(total / COUNT).toFixed(1)} calls each`,
  );
  for (const [name, count] of [...calls].sort((a, b) => b[1] - a[1])) say(`    ${name}: ${count}`);
}

async function rest(bench: OperatorBench): Promise<void> {
  // What the last ones set off is over.
  let last = -1;
  await until(async () => last === (last = await writesOf(bench)), {
    what: 'peace',
    timeoutMs: LIMIT_MS,
    everyMs: 5000,
  });
  const [before, calls] = [bench.usage(), await bench.calls()];
  await pause(REST_SECONDS * 1000);
  const [after, later] = [bench.usage(), await bench.calls()];
  const written = countWrites(later) - countWrites(calls);
  const { used, total, external } = await bench.heap();
  const cpu = (100 * (after.cpu - before.cpu)) / REST_SECONDS;
  say(
    `at rest for ${REST_SECONDS} s: ${(after.rss / 1e6).toFixed(0)} MB, ${cpu.toFixed(1)} % of a core, ${written} writes (goal: 300 MB, 0 writes)`,
  );
  say(
    `  of its heap of ${total.toFixed(0)} MB ${used.toFixed(0)} are in use; ${external.toFixed(0)} MB are outside of it`,
  );
}

/** Renewing the Lease by which it leads is no news. */
function countWrites(calls: Map<string, number>): number {
  const writes = [...calls].filter(([name]) => !/^(GET|WATCH)|leases/.test(name));
  return writes.reduce((sum, [, count]) => sum + count, 0);
}

const writesOf = async (bench: OperatorBench): Promise<number> => countWrites(await bench.calls());

async function changes(bench: OperatorBench): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < CHANGES; i++)
    times.push(await bench.changeSeen(`n${Math.floor((i * COUNT) / CHANGES)}`));
  times.sort((a, b) => a - b);
  const at = (share: number) => `${times[Math.ceil(share * times.length) - 1]!.toFixed(0)} ms`;
  say(`a change is in the status after ${at(0.5)} (median), ${at(0.99)} (p99; goal: 1000 ms)`);
}

await main();
