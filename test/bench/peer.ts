import { Collector } from '../support/collector.js';
import type { GatewayOptions } from '../support/gateway/gateway.js';
import { testPhone } from '../support/gateway/traffic.js';
import { pause } from '../support/wait.js';
import { Gowa } from './density/gowa.js';
import type { NetworkProcess } from './engine/network.js';
import { BareSender } from './peer/bare-sender.js';
import { FloorSender } from './peer/floor-sender.js';
import { GatewaySender } from './peer/gateway-sender.js';
import { GowaSender } from './peer/gowa-sender.js';
import { measureBurst, measureOneByOne, type Burst } from './peer/measure.js';
import type { Sender } from './peer/sender.js';
import { printCalls, printSpans, readCalls, tracingTo } from './peer/spans.js';
import { condition } from './shared/condition.js';
import { onStage, type BenchStage } from './shared/stage.js';
import { median, percentile } from './shared/statistics.js';
import { progress, setting, Table } from './shared/table.js';

/**
 * `make bench-peer`: texts of one linked number, from the request to the phone: gwk, a floor (the least that keeps gwk's
 * promises), bare Baileys, and a peer gateway if its program is given (`PEER=/path/to/gowa`; see test/bench/NOTES.md). All
 * are linked with one simulated network and take turns. The contacts have written before. In each round a sender sends
 * texts one at a time, then many at once, and at last it is killed half way.
 *
 * Settings: `PART=spans` prints the spans of gwk instead; `ROUNDS`; `ONE_BY_ONE` and `BURST`, texts in each part; `AT_ONCE`, requests in progress; `CONTACTS`.
 */
const ROUNDS = setting('ROUNDS', 5);
const ONE_BY_ONE = setting('ONE_BY_ONE', 100);
const BURST = setting('BURST', 400);
const AT_ONCE = setting('AT_ONCE', 20);
const CONTACTS = setting('CONTACTS', 20);
const WARM_UP = 40;
/** The programs have exported their spans. */
const EXPORTED_MS = 1500;
const MOST = { p50: 30, p99: 60, ofPeer: 1.6 };
const LEAST = { perSecond: 250, ofPeer: 0.7 };

interface Results {
  p50: number[];
  p99: number[];
  bursts: Burst[];
  kills: Burst[];
}

async function comparePeers(stage: BenchStage): Promise<void> {
  const network = await stage.network();
  await network.contacts(CONTACTS);
  const senders = await startSenders(stage, network);
  const results = new Map<Sender, Results>();
  for (const sender of senders) {
    await meet(network, sender);
    results.set(sender, { p50: [], p99: [], bursts: [], kills: [] });
    await measureBurst(planOf(network, sender, 'warm-up'), { count: WARM_UP, atOnce: AT_ONCE });
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const sender of round % 2 === 0 ? senders : senders.toReversed())
      await measure(network, sender, results.get(sender)!, round);
  print(senders, results);
}

/** Where the time goes: spans of texts one at a time and of many at once. Tracing costs time of its own. */
async function measureSpans(stage: BenchStage): Promise<void> {
  const collector = stage.closing(await Collector.start(), (one) => one.stop());
  const network = await stage.network();
  await network.contacts(CONTACTS);
  const tracing = tracingTo(collector);
  const sender = await startGateway(stage, network, { api: tracing, worker: tracing, operator: tracing });
  const api = sender.on.instances.gateway.urls[0]!;
  await meet(network, sender);
  await measureBurst(planOf(network, sender, 'warm-up'), { count: WARM_UP, atOnce: AT_ONCE });
  const inSpans = async (title: string, count: number, work: () => Promise<unknown>): Promise<void> => {
    await pause(EXPORTED_MS);
    collector.spans.length = 0;
    const before = await readCalls(api);
    await work();
    const after = await readCalls(api);
    await pause(EXPORTED_MS);
    printSpans(title, collector.spans);
    printCalls(`calls of the engine, ${title}`, [before, after], count);
  };
  await inSpans('one at a time', ONE_BY_ONE, () =>
    measureOneByOne(planOf(network, sender, 'one'), ONE_BY_ONE),
  );
  await inSpans(`${AT_ONCE} at once`, BURST, () =>
    measureBurst(planOf(network, sender, 'burst'), { count: BURST, atOnce: AT_ONCE }),
  );
}

async function startSenders(stage: BenchStage, network: NetworkProcess): Promise<Sender[]> {
  const gateway = await startGateway(stage, network);
  const floor = await FloorSender.start(network, await stage.servers());
  const senders: Sender[] = [
    gateway,
    stage.closing(floor, (sender) => sender.stop()),
    stage.closing(await BareSender.start(network), (bare) => bare.stop()),
  ];
  const program = process.env['PEER'];
  if (!program) {
    console.log('no peer: PEER=/path/to/gowa (test/bench/NOTES.md)');
    return senders;
  }
  const gowa = stage.closing(new Gowa(network, { program, apart: false }), (peer) => peer.stop());
  await gowa.grow(1);
  return [...senders, new GowaSender(gowa)];
}

async function startGateway(
  stage: BenchStage,
  network: NetworkProcess,
  settings: GatewayOptions['settings'] = {},
): Promise<GatewaySender> {
  const on = await stage.instances(network, settings);
  await on.instances.grow(1);
  return stage.closing(new GatewaySender(on), (sender) => sender.stop());
}

/** Every contact writes to the number, so that nobody is a stranger. */
async function meet(network: NetworkProcess, { phone }: Sender): Promise<void> {
  for (let index = 0; index < CONTACTS; index++) {
    const contact = await network.client.contact(testPhone(index));
    await contact.writes('hello', { to: phone });
  }
}

const planOf = (network: NetworkProcess, sender: Sender, name: string) => ({
  ...{ network, sender, contacts: CONTACTS },
  name: `${sender.name} ${name}`,
});

async function measure(
  network: NetworkProcess,
  sender: Sender,
  results: Results,
  round: number,
): Promise<void> {
  progress(`round ${round + 1} of ${ROUNDS}: ${sender.name}`);
  const times = await measureOneByOne(planOf(network, sender, `one ${round}`), ONE_BY_ONE);
  results.p50.push(percentile(times, 0.5));
  results.p99.push(percentile(times, 0.99));
  const burst = await measureBurst(planOf(network, sender, `burst ${round}`), {
    count: BURST,
    atOnce: AT_ONCE,
  });
  if (burst.refused + burst.lost + burst.twice > 0)
    throw new Error(`${sender.name}: ${burst.refused} refused, ${burst.lost} lost, ${burst.twice} twice`);
  results.bursts.push(burst);
  if (!sender.kill) return;
  const order = { count: BURST, atOnce: AT_ONCE, killAt: BURST / 2 };
  results.kills.push(await measureBurst(planOf(network, sender, `killed ${round}`), order));
}

function print(senders: readonly Sender[], results: Map<Sender, Results>): void {
  const table = new Table(
    `texts of one number, ${ROUNDS} rounds of ${ONE_BY_ONE} and ${BURST} to ${CONTACTS} contacts`,
  );
  for (const sender of senders) {
    const { p50, p99, bursts, kills } = results.get(sender)!;
    const isOurs = sender === senders[0];
    const bound = <T>(of: T) => (isOurs ? of : undefined);
    table
      .rounds(`${sender.name}: one at a time, p50 ms`, p50, 1, bound({ atMost: MOST.p50 }))
      .rounds('  p99 ms', p99, 1, bound({ atMost: MOST.p99 }))
      .rounds(
        `  ${AT_ONCE} at once, texts/s`,
        bursts.map(({ perSecond }) => perSecond),
        0,
        bound({ atLeast: LEAST.perSecond }),
      );
    for (const part of bursts[0]!.processor.keys())
      table.rounds(
        `  CPU of ${part}, ms a text`,
        bursts.map(({ processor }) => processor.get(part)! / 1000),
        2,
      );
    for (const what of kills.length > 0 ? (['refused', 'lost', 'twice'] as const) : []) {
      const sum = kills.reduce((total, kill) => total + kill[what], 0);
      const met = isOurs ? [condition(sum, { atMost: 0 })] : [];
      table.row(`  killed half way ${kills.length} times, ${what} of ${kills.length * BURST}`, [
        sum,
        '',
        '',
        ...met,
      ]);
    }
  }
  table.print();
  const [ours, peer] = [senders[0]!, senders.find(({ name }) => name === 'GOWA')].map(
    (one) => one && results.get(one),
  );
  if (!ours || !peer) return;
  const latency = median(ours.p50) / median(peer.p50);
  const rate =
    median(ours.bursts.map(({ perSecond }) => perSecond)) /
    median(peer.bursts.map(({ perSecond }) => perSecond));
  console.log(
    `\np50 of gwk / GOWA: ${latency.toFixed(2)}, ${condition(latency, { atMost: MOST.ofPeer })} (goal 1)`,
  );
  console.log(
    `rate of gwk / GOWA: ${rate.toFixed(2)}, ${condition(rate, { atLeast: LEAST.ofPeer })} (goal 1)`,
  );
}

await onStage(process.env['PART'] === 'spans' ? measureSpans : comparePeers);
