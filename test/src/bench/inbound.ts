import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '@gwk/api/database';
import { phoneOf } from '../harness/traffic.js';
import { until } from '../harness/wait.js';
import { NetworkProcess } from './engine/network.js';
import { openTier, textFrom, type Tier } from './inbound/tier.js';
import { Numbers } from './shared/numbers.js';
import { startBenchServers } from './shared/servers.js';
import { progress, setting, Table } from './shared/table.js';
import { memoryOf, processorSeconds } from './shared/usage.js';

/**
 * `make bench-inbound`: messages received a second. By one engine of a whole gateway, which contacts of the simulated
 * network write to as fast as they can; and by one `gwk api`, told by many engines that do nothing else. After each
 * round the memory of the engine, and of the API.
 *
 * `MESSAGES` of a round of the engine, `CONTACTS`; `ENGINES`, `GROUP` (messages of one call) and `SECONDS` of a round of
 * the API; `ROUNDS`.
 */
const ROUNDS = setting('ROUNDS', 5);
const MESSAGES = setting('MESSAGES', 3_000);
const CONTACTS = setting('CONTACTS', 30);
const ENGINES = setting('ENGINES', 50);
const GROUP = setting('GROUP', 5);
const SECONDS = setting('SECONDS', 6);
const PEOPLE = setting('PEOPLE', 2_000);
const LIMIT_MS = 300_000;

interface Round {
  perSecond: number;
  /** MB of memory afterwards. */
  resident: number;
  /** Microseconds of processor for each message. */
  processor: number;
  /** The same of the network, where there is one. */
  network?: number;
}

async function main(): Promise<void> {
  const engine = await engineRounds();
  const tier = await tierRounds();
  const table = new Table(
    `received: one engine with ${CONTACTS} contacts, ${MESSAGES} messages a round; ` +
      `one API with ${ENGINES} engines, ${GROUP} messages a call, ${SECONDS} s a round; ${ROUNDS} rounds after one more`,
  );
  section(table, 'one engine', engine);
  section(table, 'one API', tier);
  table.print();
}

function section(table: Table, name: string, [first, ...rounds]: Round[]): void {
  const row = (label: string, pick: (round: Round) => number, digits = 0) =>
    table.rounds(`${name}: ${label}`, rounds.map(pick), digits);
  row('messages/s', (r) => r.perSecond);
  row('us of processor a message', (r) => r.processor);
  if (first!.network !== undefined) row('us of processor a message, of the network', (r) => r.network!);
  row('resident, MB', (r) => r.resident, 1);
  const last = rounds.at(-1)!;
  table.row(`${name}: growth from the first round to the last, MB`, [
    (last.resident - rounds[0]!.resident).toFixed(1),
  ]);
}

async function engineRounds(): Promise<Round[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-bench-'));
  const opened: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    const network = await NetworkProcess.start(folder);
    opened.push(() => network.stop());
    const servers = await startBenchServers();
    opened.push(() => servers.stop());
    const numbers = await Numbers.open(network, { stores: servers.stores });
    opened.push(() => numbers.close());
    const db = openDatabase({ url: numbers.gateway.settings.databaseUrl, poolSize: 2, program: 'bench' });
    opened.push(() => db.$disconnect());
    await numbers.grow(1);
    await network.contacts(CONTACTS);
    const received = () => db.message.count({ where: { direction: 'inbound' } });
    const rounds: Round[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      progress(`one engine, round ${round}`);
      const pids = [numbers.enginePids()[0]!, network.program.pid!];
      const before = pids.map((pid) => processorSeconds([pid]));
      const from = await received();
      const began = performance.now();
      await writeAll(network, `round ${round}`);
      await until(async () => (await received()) - from >= MESSAGES, {
        what: 'all are received',
        timeoutMs: LIMIT_MS,
        everyMs: 25,
      });
      const seconds = (performance.now() - began) / 1000;
      const [engine, net] = pids.map((pid, i) => ((processorSeconds([pid]) - before[i]!) * 1e6) / MESSAGES);
      const { resident } = memoryOf(pids[0]!);
      rounds.push({ perSecond: MESSAGES / seconds, resident, processor: engine!, network: net! });
    }
    const expected = (ROUNDS + 1) * MESSAGES;
    const events = await db.event.count({ where: { type: 'message.received' } });
    checkSum('one engine', [expected, await received(), events]);
    await network.checked();
    return rounds;
  } finally {
    for (const undo of opened.reverse()) await undo();
  }
}

/** Each contact writes one message after the other. */
async function writeAll(network: NetworkProcess, name: string): Promise<void> {
  const to = Numbers.phoneOf(0);
  const each = async (index: number): Promise<void> => {
    const contact = await network.client.contact(phoneOf(index));
    for (let number = index; number < MESSAGES; number += CONTACTS)
      await contact.writes(`${name} ${number}`, { to });
  };
  await Promise.all(Array.from({ length: CONTACTS }, (_, index) => each(index)));
}

async function tierRounds(): Promise<Round[]> {
  const servers = await startBenchServers();
  let tier: Tier | undefined;
  try {
    tier = await openTier(servers, ENGINES);
    const { db, program } = tier;
    const rounds: Round[] = [];
    let told = 0;
    for (let round = 0; round <= ROUNDS; round++) {
      progress(`one API, round ${round}`);
      const before = processorSeconds([program.pid!]);
      const began = performance.now();
      const count = await tellAll(tier, began + SECONDS * 1000);
      const seconds = (performance.now() - began) / 1000;
      const processor = ((processorSeconds([program.pid!]) - before) * 1e6) / count;
      told += count;
      rounds.push({ perSecond: count / seconds, processor, ...memoryOf(program.pid!) });
    }
    const events = await db.event.count({ where: { type: 'message.received' } });
    checkSum('one API', [told, await db.message.count({ where: { direction: 'inbound' } }), events]);
    return rounds;
  } finally {
    await tier?.stop();
    await servers.stop();
  }
}

/** Each engine has one call under way, as engines do. @returns how many messages they told */
async function tellAll({ engines }: Tier, end: number): Promise<number> {
  let told = 0;
  const each = async (engine: (typeof engines)[number]): Promise<void> => {
    while (performance.now() < end) {
      const messages = Array.from({ length: GROUP }, () => textFrom(Math.floor(Math.random() * PEOPLE)));
      await engine.receive(messages);
      told += messages.length;
    }
  };
  await Promise.all(engines.map(each));
  return told;
}

/** None lost, none twice. */
function checkSum(name: string, [written, received, events]: [number, number, number]): void {
  if (received !== written || events !== written)
    throw new Error(`${name}: ${written} were written, ${received} received, ${events} told in events`);
  console.log(`${name}: ${written} written, each received and told once`);
}

await main();
