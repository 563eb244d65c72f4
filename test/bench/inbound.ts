import { BusyInstance } from './inbound/busy-instance.js';
import { openTier, textFrom, type Tier } from './inbound/tier.js';
import { condition } from './shared/condition.js';
import { processorTimes } from './shared/processor.js';
import { onNetwork, onStage } from './shared/stage.js';
import { progress, setting, Table } from './shared/table.js';
import { readMemory } from './shared/usage.js';

/**
 * `make bench-inbound`: received messages per second. First by one engine of a whole gateway: contacts of the simulated
 * network have written, and their encrypted messages arrive all at once. Then by one `gwk api` that receives messages
 * from many protocol-only engines. Each round also records the memory of engine and API, which must stay flat. There
 * are enough rounds to fill caches and V8's old space in the first half. The memory of the API takes longer to settle
 * in the part with one engine: it receives 1,000 messages per round there, and 10,000 beside 50 engines.
 *
 * Settings: `MESSAGES` per round of the engine; `CONTACTS`; `ENGINES`, `GROUP` (messages per call) and `SECONDS` per
 * round of the API; `ROUNDS`; `PART=engine` or `PART=api`; `PROFILE=folder` for CPU profiles of engine and API.
 */
const ENGINE_ROUNDS = setting('ROUNDS', 40);
const TIER_ROUNDS = setting('ROUNDS', 12);
const MESSAGES = setting('MESSAGES', 1_000);
const CONTACTS = setting('CONTACTS', 30);
const ENGINES = setting('ENGINES', 50);
const GROUP = setting('GROUP', 5);
const SECONDS = setting('SECONDS', 4);
const PEOPLE = setting('PEOPLE', 2_000);
const LIMIT_MS = 300_000;
/** Ratio of the memory at the end to that after half of the rounds. */
const FLAT = { atMost: 1.05 };
/** Rounds whose memory is printed. */
const SHOWN = [0, 1 / 12, 1 / 6, 1 / 4, 1 / 3, 5 / 12, 1 / 2, 7 / 12, 2 / 3, 3 / 4, 5 / 6, 11 / 12, 1];

const profile = process.env['PROFILE'];
const nodeOptions = profile ? `--cpu-prof --cpu-prof-dir=${profile}` : '';

interface Round {
  perSecond: number;
  /** Microseconds of CPU time per message, by part. */
  processor: Map<string, number>;
  /** Resident MB afterwards, by part. */
  resident: Map<string, number>;
}

async function main(): Promise<void> {
  const part = process.env['PART'];
  const engine = part === 'api' ? [] : await engineRounds();
  const tier = part === 'engine' ? [] : await tierRounds();
  const table = new Table(
    `received: one engine with ${CONTACTS} contacts, ${MESSAGES} messages per round, ${ENGINE_ROUNDS} rounds; one API with ` +
      `${ENGINES} engines, ${GROUP} messages per call, ${SECONDS} s per round, ${TIER_ROUNDS} rounds; one more before each`,
  );
  section(table, 'one engine', engine);
  section(table, 'one API', tier);
  table.print();
  printMemory('one engine', engine);
  printMemory('one API', tier);
}

function section(table: Table, name: string, all: readonly Round[]): void {
  // The first one warms up.
  const rounds = all.slice(1);
  const [first] = rounds;
  if (!first) return;
  table.rounds(
    `${name}: messages/s`,
    rounds.map(({ perSecond }) => perSecond),
  );
  for (const part of first.processor.keys()) {
    const values = rounds.map(({ processor }) => processor.get(part)!);
    table.rounds(`${name}: us of CPU per message, ${part}`, values);
  }
}

/** Each round receives the same messages. */
function printMemory(name: string, rounds: readonly Round[]): void {
  if (rounds.length === 0) return;
  const last = rounds.length - 1;
  const middle = Math.ceil(last / 2);
  const table = new Table(
    `${name}: resident at the end of rounds, MB; round 0 warms up, growth is from round ${middle} to ${last}`,
    [...SHOWN.map((part) => `round ${Math.round(last * part)}`), 'growth'],
  );
  for (const part of rounds[0]!.resident.keys()) {
    const values = rounds.map(({ resident }) => resident.get(part)!);
    const growth = values[last]! / values[middle]!;
    const sizes = SHOWN.map((of) => values[Math.round(last * of)]!.toFixed(1));
    table.row(part, [...sizes, growth.toFixed(3), condition(growth, FLAT)]);
  }
  table.print();
}

type Pids = Record<string, number | undefined>;

/** @param resident processes whose memory is recorded */
async function timed(pids: Pids, resident: readonly string[], work: () => Promise<number>): Promise<Round> {
  const before = processorTimes(pids);
  const began = performance.now();
  const count = await work();
  const seconds = (performance.now() - began) / 1000;
  const after = processorTimes(pids);
  return {
    perSecond: count / seconds,
    processor: new Map([...after].map(([name, time]) => [name, (time - (before.get(name) ?? 0)) / count])),
    resident: new Map(resident.map((name) => [name, readMemory(pids[name]!).resident])),
  };
}

function engineRounds(): Promise<Round[]> {
  // The operator passes them to its engine.
  const node = { NODE_OPTIONS: nodeOptions };
  const settings = profile ? { operator: node, api: node } : {};
  return onNetwork(async (opened) => {
    const number = await BusyInstance.open(opened, CONTACTS);
    const rounds: Round[] = [];
    for (let round = 0; round <= ENGINE_ROUNDS; round++) {
      progress(`one engine, round ${round}`);
      rounds.push(await engineRound(number, round));
      if (round === 0) await number.answerAll();
    }
    const { db, network } = opened;
    const count = await db.message.count({ where: { direction: 'inbound' } });
    const events = await db.event.count({ where: { type: 'message.received' } });
    checkSum('one engine', [(ENGINE_ROUNDS + 1) * MESSAGES, count, events]);
    await network.checked();
    return rounds;
  }, settings);
}

async function engineRound(number: BusyInstance, round: number): Promise<Round> {
  await number.write(`round ${round}`, MESSAGES);
  return timed(number.pids, ['engine', 'api'], async () => {
    await number.release();
    await number.hasReceived((round + 1) * MESSAGES, LIMIT_MS);
    return MESSAGES;
  });
}

function tierRounds(): Promise<Round[]> {
  return onStage(async (stage) => {
    const servers = await stage.servers();
    const tier = stage.closing(await openTier(servers, ENGINES, nodeOptions), (one) => one.stop());
    const { db, program } = tier;
    const rounds: Round[] = [];
    const pids = { api: program.pid, postgres: servers.postgres.process?.pid };
    let reported = 0;
    for (let round = 0; round <= TIER_ROUNDS; round++) {
      progress(`one API, round ${round}`);
      rounds.push(
        await timed(pids, ['api'], async () => {
          const count = await receiveAll(tier, performance.now() + SECONDS * 1000);
          reported += count;
          return count;
        }),
      );
    }
    const events = await db.event.count({ where: { type: 'message.received' } });
    checkSum('one API', [reported, await db.message.count({ where: { direction: 'inbound' } }), events]);
    return rounds;
  });
}

/**
 * Sends messages with one call in flight per engine, as engines do.
 * @returns the number of reported messages
 */
async function receiveAll({ engines }: Tier, end: number): Promise<number> {
  let reported = 0;
  const each = async (engine: (typeof engines)[number]): Promise<void> => {
    while (performance.now() < end) {
      const messages = Array.from({ length: GROUP }, () => textFrom(Math.floor(Math.random() * PEOPLE)));
      await engine.receive(messages);
      reported += messages.length;
    }
  };
  await Promise.all(engines.map(each));
  return reported;
}

/** Checks that no message was lost or duplicated. */
function checkSum(name: string, [written, received, events]: [number, number, number]): void {
  if (received !== written || events !== written)
    throw new Error(`${name}: ${written} were written, ${received} received, ${events} reported in events`);
  console.log(`${name}: ${written} written, each received and reported once`);
}

await main();
