import { pause, until } from '../../support/wait.js';
import { setting, settings } from '../shared/table.js';
import { Load } from './load.js';
import type { OperatorBench } from './stage.js';

/** An upgrade of all engines, and the loss of a tenth of the nodes. */
const WIDTHS = settings('WIDTHS', [1, 10, 50]);
/** Time for which each width is measured. */
const UPGRADE_SECONDS = setting('UPGRADE_SECONDS', 60);
/** From the deleted pod of an engine until its successor is connected: `make e2e` on a machine as slow as this. */
const ENGINE_MS = setting('ENGINE_MS', 5200);
/** The control plane gives up a node that has reported nothing for this long (`--node-monitor-grace-period`). */
const GRACE_MS = 50_000;

type Say = (line: string) => void;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

export async function upgrade(bench: OperatorBench, say: Say, count: number): Promise<void> {
  bench.nodes.startMs = ENGINE_MS;
  let done = 0;
  for (const width of WIDTHS) {
    const before = bench.nodes.connections.length;
    await measureWidth(bench, say, { count, width, left: count - done });
    done += bench.nodes.connections.length - before;
  }
}

async function measureWidth(
  bench: OperatorBench,
  say: Say,
  { count, width, left }: { count: number; width: number; left: number },
): Promise<void> {
  const { connections } = bench.nodes;
  await bench.stopOperator();
  const [began, from] = [performance.now(), connections.length];
  await bench.startOperator({ GWK_OPERATOR_MAX_CONCURRENT_UPGRADES: String(width) }, 2);
  const load = new Load(bench.pids);
  await until(() => connections.length >= from + Math.min(width, left), bench.wait('a first turn has ended'));
  const firstTurn = performance.now() - began;
  const end = performance.now() + UPGRADE_SECONDS * 1000;
  await until(
    () => performance.now() > end || connections.length === from + left,
    bench.wait('time is over'),
  );
  // The first turns begin together, with the first reconcile of all.
  const times = connections.slice(from + width);
  const rate = (times.length - 1) / ((times.at(-1)! - times[0]!) / 1000);
  const turn = (1000 * width) / rate;
  say(
    `upgrade at width ${width}: ${times.length} replaced, ${rate.toFixed(2)}/s; a turn takes ${seconds(turn)}, of them ${seconds(ENGINE_MS)} the engine; ` +
      `first turns ended ${seconds(firstTurn)} after the operator's start; ${count} in ${(count / rate / 3600).toFixed(2)} h`,
  );
  say(`  CPU: ${load.shares()}; operator ${load.memory('operator')}`);
}

export async function loseNodes(bench: OperatorBench, say: Say, count: number): Promise<void> {
  const { nodes } = bench;
  // Upgrades pause, so that only the lost nodes cause new engines.
  await bench.stopOperator();
  await bench.startOperator({ GWK_OPERATOR_MAX_CONCURRENT_UPGRADES: '0' }, 2);
  await until(() => bench.readyNames.size === count, bench.wait('all are ready again'));
  const from = nodes.connections.length;
  const began = performance.now();
  const lost = nodes.lose();
  const load = new Load(bench.pids);
  await pause(GRACE_MS);
  await nodes.giveUpLost();
  await until(() => nodes.connections.length > from, bench.wait('a first engine runs elsewhere'));
  const first = performance.now() - began;
  await until(() => nodes.connections.length >= from + lost, bench.wait('all run elsewhere'));
  const all = performance.now() - began;
  await until(() => bench.readyNames.size === count, bench.wait('all are ready again'));
  const ready = performance.now() - began;
  say(
    `a tenth of ${nodes.count} nodes lost with ${lost} engines: first connected elsewhere after ${seconds(first)}, all after ${seconds(all)}, all ready after ${seconds(ready)}`,
  );
  say(`  CPU: ${load.describe()}`);
}
