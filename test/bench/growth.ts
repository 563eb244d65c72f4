import { totalmem } from 'node:os';
import { query } from '../support/servers/database.js';
import { ENOUGH, KINDS, listAll, sendToPeople } from './growth/lists.js';
import { openSubject, type Subject } from './growth/subject.js';
import type { Bound } from './shared/condition.js';
import { benchSettings } from './shared/settings.js';
import type { Paced, PaceOrder } from './shared/pace-program.js';
import { startBenchServers } from './shared/servers.js';
import { progress, setting, settings, Table } from './shared/table.js';

/**
 * `make bench-growth`: the effect of existing messages on sends and lists. One `gwk api` per database on one Postgres,
 * one of them empty. Rounds alternate. Condition: within 10 % of the empty one. Compared lists have the same number of
 * rows and days in each, and each database has partitions of as many days (`PARTITIONS=new`: the empty one has only
 * those of its first day).
 *
 * Settings: `MESSAGES=0,1000000` (10000000 takes long to fill); `ROUNDS`; `SECONDS` per round; `CONNECTIONS`; `LISTS`
 * of each kind and round; `SHARED_BUFFERS` of Postgres in MB (by default a quarter of the memory, as docs/operate.md
 * recommends; with less, old pages come from the system's cache, which an empty database does not need).
 */
const MESSAGES = settings('MESSAGES', [0, 1_000_000]);
const ROUNDS = setting('ROUNDS', 5);
const SECONDS = setting('SECONDS', 6);
const CONNECTIONS = setting('CONNECTIONS', 16);
const LISTS = setting('LISTS', 100);
const SHARED_BUFFERS = setting('SHARED_BUFFERS', Math.round(totalmem() / 4 / 1_048_576));
const WARM_UP_SECONDS = setting('WARM_UP', 8);
const WARM_UP_LIMIT_MS = 120_000;
/** Lists of each kind, so that each connection has planned each statement. */
const WARM_UP_LISTS = 100;

interface Round {
  perSecond: number;
  p50: number;
  p99: number;
  lists: Record<string, number>;
}

interface Figure {
  name: string;
  pick: (round: Round) => number;
  digits: number;
  /** Bound of the ratio to the empty database. */
  bound?: Bound;
}

const FIGURES: Figure[] = [
  { name: 'accepted/s', pick: (round) => round.perSecond, digits: 0, bound: { atLeast: 0.9 } },
  { name: '202 after, p50 ms', pick: (round) => round.p50, digits: 1 },
  { name: '202 after, p99 ms', pick: (round) => round.p99, digits: 1 },
  ...Object.keys(KINDS).map((kind) => ({
    name: `list, ${kind}: ms`,
    pick: (round: Round) => round.lists[kind]!,
    digits: 1,
    bound: { atMost: 1.1 },
  })),
];

const accepted = new Map<Subject, number>();

async function main(): Promise<void> {
  const servers = await startBenchServers(SHARED_BUFFERS);
  const subjects: Subject[] = [];
  try {
    const shared = await benchSettings(servers);
    for (const messages of MESSAGES) {
      progress(`a database with ${messages} messages`);
      subjects.push(await openSubject(servers, shared, messages));
    }
    await warmUp(subjects);
    const rounds = new Map<Subject, Round[]>(subjects.map((subject) => [subject, []]));
    for (let number = 0; number < ROUNDS; number++) {
      progress(`round ${number + 1} of ${ROUNDS}`);
      // Alternates the order.
      const order = number % 2 === 0 ? subjects : [...subjects].reverse();
      const figures = await round(order, SECONDS);
      for (const [index, subject] of order.entries()) rounds.get(subject)!.push(figures[index]!);
    }
    print(subjects, rounds);
    for (const subject of subjects) await checkSums(subject);
  } finally {
    for (const subject of subjects) await subject.stop();
    await servers.stop();
  }
}

/** Measures load on each database alone, then lists of both in turns, after the effects of sending have ended. */
async function round(subjects: readonly Subject[], seconds: number): Promise<Round[]> {
  const loads: Paced[] = [];
  for (const subject of subjects) loads.push(await loaded(subject, seconds));
  const lists = await listAll(subjects, LISTS);
  return loads.map(({ perSecond, p50, p99 }, index) => ({ perSecond, p50, p99, lists: lists[index]! }));
}

async function loaded(subject: Subject, seconds: number): Promise<Paced> {
  await query(subject.databaseUrl, 'CHECKPOINT');
  const order: PaceOrder = { seconds, name: 'growth', connections: CONNECTIONS };
  const paced = await subject.load.ask<Paced>(order);
  const { statuses, posted } = paced;
  if (statuses['202'] !== posted) throw new Error(`some were not accepted: ${JSON.stringify(statuses)}`);
  accepted.set(subject, accepted.get(subject)! + posted);
  return paced;
}

/** Sends until each database has enough messages to list. */
async function warmUp(subjects: readonly Subject[]): Promise<void> {
  for (const subject of subjects) {
    accepted.set(subject, 0);
    const began = performance.now();
    do await loaded(subject, WARM_UP_SECONDS);
    while (accepted.get(subject)! < ENOUGH && performance.now() - began < WARM_UP_LIMIT_MS);
    accepted.set(subject, accepted.get(subject)! + (await sendToPeople(subject)));
    // Autovacuum would do so within a minute, earlier in one database than in the other.
    await query(subject.databaseUrl, 'ANALYZE');
  }
  await listAll(subjects, WARM_UP_LISTS);
}

function print(subjects: Subject[], rounds: Map<Subject, Round[]>): void {
  const [empty] = subjects;
  const table = new Table(
    `${ROUNDS} rounds of ${SECONDS} s per database, ${CONNECTIONS} connections, shared_buffers ${SHARED_BUFFERS} MB`,
  );
  for (const { name, pick, digits, bound } of FIGURES) {
    const base = rounds.get(empty!)!.map(pick);
    for (const subject of subjects) {
      const values = rounds.get(subject)!.map(pick);
      const label = `${name}, ${subject.messages.toLocaleString('en')} messages before`;
      table.rounds(label, values, digits);
      if (subject !== empty)
        table.rounds(
          '  ratio to the empty one',
          values.map((value, index) => value / base[index]!),
          2,
          bound,
        );
    }
  }
  table.print();
  const filled = subjects.map(({ messages, fillSeconds }) => `${messages} in ${fillSeconds.toFixed(0)} s`);
  console.log(`\nfilled: ${filled.join(', ')}; ratios are of pairs of rounds`);
}

/** Checks that all accepted messages are stored beside the filled ones. */
async function checkSums(subject: Subject): Promise<void> {
  const [row] = await query<{ count: string }>(subject.databaseUrl, 'SELECT count(*) FROM messages');
  const expected = subject.filled + accepted.get(subject)!;
  if (Number(row!.count) !== expected)
    throw new Error(`${row!.count} messages are stored, expected ${expected}`);
  console.log(`${subject.filled} before, ${accepted.get(subject)!} accepted: all ${expected} are there`);
}

await main();
