import { pause } from '../support/wait.js';
import { BareInstances } from './density/bare.js';
import { GatewayInstances } from './density/gateway.js';
import { Gowa } from './density/gowa.js';
import type { Around, Subject } from './density/subject.js';
import type { NetworkProcess } from './engine/network.js';
import { processorSeconds } from './shared/processor.js';
import { Sampler } from './shared/sampler.js';
import type { BenchServers } from './shared/servers.js';
import { onStage } from './shared/stage.js';
import { progress, setting, settings, Table } from './shared/table.js';
import { readTotalMemory, type Memory } from './shared/usage.js';

/**
 * `make bench-density`: memory and CPU of connected, idle instances on the simulated network: engines of a whole
 * gateway, bare Baileys, and a peer gateway if its program is given (`PEER=/path/to/gowa`; see test/bench/NOTES.md).
 * All run at the same time and are measured in the same spans.
 *
 * Settings: `NUMBERS=1,10,50`, `ROUNDS`, `SECONDS` per span, `REST` before the first span.
 */
const NUMBERS = settings('NUMBERS', [1, 10, 50]);
const ROUNDS = setting('ROUNDS', 5);
const SECONDS = setting('SECONDS', 10);
/** Longer than the idle time after which an engine releases memory. */
const REST_SECONDS = setting('REST', 15);

interface Round {
  each: Memory;
  /** Percent of a core. */
  cpu: number;
  around?: { memory: Memory; cpu: number };
}

async function main(): Promise<void> {
  await onStage(async (stage) => {
    const network = await stage.network();
    const gateway = new GatewayInstances(await stage.instances(network));
    const bare = stage.closing(new BareInstances(network), (one) => one.stop());
    const subjects: Subject[] = [gateway, bare];
    const program = process.env['PEER'];
    for (const apart of program ? [false, true] : [])
      subjects.push(stage.closing(new Gowa(network, { program: program!, apart }), (peer) => peer.stop()));
    for (const count of NUMBERS) await measure({ subjects, network, servers: gateway.servers }, count);
    await network.checked();
    if (!program) console.log('\nno peer: PEER=/path/to/gowa (test/bench/NOTES.md)');
  });
}

interface Measured {
  subjects: Subject[];
  network: NetworkProcess;
  servers: BenchServers;
}

async function measure({ subjects, network, servers }: Measured, count: number): Promise<void> {
  for (const subject of subjects) {
    progress(`${count} of ${subject.name}, ${subject.kind}`);
    await subject.grow(count);
  }
  await pause(REST_SECONDS * 1000);
  const rounds = new Map<Subject, Round[]>(subjects.map((subject) => [subject, []]));
  const sampler = await Sampler.start(servers);
  for (let round = 0; round < ROUNDS; round++) {
    await checkAllThere(subjects, network, count);
    const before = subjects.map(lookAt);
    await pause(SECONDS * 1000);
    const after = subjects.map(lookAt);
    await checkAllThere(subjects, network, count);
    for (const [index, subject] of subjects.entries())
      rounds.get(subject)!.push({
        each: readTotalMemory(subject.pids()),
        ...usedBetween(before[index]!, after[index]!),
      });
  }
  const { mean } = await sampler.stop();
  print(count, rounds);
  console.log(
    `\ngwk's load on its stores, ${count} idle: Postgres ${mean.transactionsPerSecond.toFixed(1)} transactions/s, ` +
      `${mean.connections.toFixed(0)} connections, ${mean.postgresCores.toFixed(3)} cores; Redis ` +
      `${mean.commandsPerSecond.toFixed(1)} commands/s, ${mean.clients.toFixed(0)} clients, ${mean.redisCores.toFixed(3)} cores`,
  );
}

/** A missing instance would make the subject look smaller. */
async function checkAllThere(subjects: Subject[], network: NetworkProcess, count: number): Promise<void> {
  const connected = await network.connected();
  for (const subject of subjects) {
    const processes = subject.pids().length;
    const linked = subject.phones().filter((phone) => connected.has(phone)).length;
    if (processes === (subject.oneForAll ? 1 : count) && linked === count) continue;
    throw new Error(
      `${subject.name}, ${subject.kind}: ${processes} processes run, and ${linked} of ${count} phone numbers are connected`,
    );
  }
}

interface Look {
  pids: readonly number[];
  own: number;
  around: Around | undefined;
}

function lookAt(subject: Subject): Look {
  const pids = subject.pids();
  return { pids, own: processorSeconds(pids), around: subject.around?.() };
}

function usedBetween(before: Look, after: Look): Pick<Round, 'cpu' | 'around'> {
  // A replaced process starts its counters at zero.
  if (after.pids.join() !== before.pids.join()) throw new Error('a process exited during the measurement');
  const percent = (from: number, to: number) => (100 * (to - from)) / SECONDS;
  const cpu = percent(before.own, after.own);
  if (!before.around || !after.around) return { cpu };
  const { memory, processorSeconds: used } = after.around;
  return { cpu, around: { memory, cpu: percent(before.around.processorSeconds, used) } };
}

function print(count: number, rounds: Map<Subject, Round[]>): void {
  const table = new Table(
    `${count} ${count === 1 ? 'instance' : 'instances'}, connected and idle: ${ROUNDS} spans of ${SECONDS} s`,
  );
  for (const [{ name, kind }, all] of rounds) {
    const of = (pick: (round: Round) => number) => all.map((round) => pick(round) / count);
    table.row(`${name}, ${kind}`, []);
    table.rounds(
      '  resident, MB per instance',
      of(({ each }) => each.resident),
      1,
    );
    table.rounds(
      '  proportional share (PSS), MB per instance',
      of(({ each }) => each.share),
      1,
    );
    table.rounds(
      '  private, MB per instance',
      of(({ each }) => each.own),
      1,
    );
    table.rounds(
      '  CPU, % of a core per instance',
      of(({ cpu }) => cpu),
      2,
    );
    const around = all.flatMap((round) => round.around ?? []);
    if (around.length === 0) continue;
    table.rounds(
      '  supporting processes (PSS), MB in total',
      around.map(({ memory }) => memory.share),
    );
    table.rounds(
      '  supporting processes, % of a core in total',
      around.map(({ cpu }) => cpu),
      1,
    );
  }
  table.print();
}

await main();
