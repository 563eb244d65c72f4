import { openSubject, query, type Subject } from './growth/subject.js';
import { benchSettings } from './shared/settings.js';
import type { Paced, PaceOrder } from './shared/pace-program.js';
import { startBenchServers } from './shared/servers.js';
import { percentile, progress, setting, settings, Table } from './shared/table.js';

/**
 * `make bench-growth`: what sends and lists feel of the messages that are there already. A `gwk api` for each database,
 * one of them empty, on one Postgres; rounds alternate between them. Goal: within 10 % of the empty one.
 *
 * `MESSAGES=0,1000000` (10000000 takes long to fill), `ROUNDS`, `SECONDS` of a round, `CONNECTIONS`, `LISTS` of each
 * kind and round.
 */
const MESSAGES = settings('MESSAGES', [0, 1_000_000]);
const ROUNDS = setting('ROUNDS', 5);
const SECONDS = setting('SECONDS', 6);
const CONNECTIONS = setting('CONNECTIONS', 16);
const LISTS = setting('LISTS', 40);
const WARM_UP_SECONDS = setting('WARM_UP', 8);

const KINDS: Record<string, (subject: Subject) => string> = {
  'newest 50': () => 'limit=50',
  'newest 50 of an instance': ({ instances }) => `limit=50&instance_id=${instances[3]!}`,
  'newest 50 to a phone': () => 'limit=50&to=5511980000007',
  'newest 50 that are queued': () => 'limit=50&status=queued',
  'all pages of 200, five deep': () => 'limit=200',
};
const DEEP = 'all pages of 200, five deep';
const PAGES = 5;

interface Round {
  perSecond: number;
  p50: number;
  p99: number;
  lists: Record<string, number>;
}

let accepted = new Map<Subject, number>();

async function main(): Promise<void> {
  const servers = await startBenchServers();
  const subjects: Subject[] = [];
  try {
    const shared = await benchSettings(servers);
    for (const messages of MESSAGES) {
      progress(`a database with ${messages} messages`);
      subjects.push(await openSubject(servers, shared, messages));
    }
    accepted = new Map(subjects.map((subject) => [subject, 0]));
    for (const subject of subjects) await round(subject, WARM_UP_SECONDS);
    const rounds = new Map<Subject, Round[]>(subjects.map((subject) => [subject, []]));
    for (let number = 0; number < ROUNDS; number++) {
      progress(`round ${number + 1} of ${ROUNDS}`);
      for (const subject of subjects) rounds.get(subject)!.push(await round(subject, SECONDS));
    }
    print(subjects, rounds);
    for (const subject of subjects) await checkSums(subject);
  } finally {
    for (const subject of subjects) await subject.stop();
    await servers.stop();
  }
}

async function round(subject: Subject, seconds: number): Promise<Round> {
  await query(subject.databaseUrl, 'CHECKPOINT');
  const order: PaceOrder = { seconds, name: 'growth', connections: CONNECTIONS };
  const { perSecond, p50, p99, statuses, posted } = await subject.load.ask<Paced>(order);
  if (statuses['202'] !== posted) throw new Error(`not all were accepted: ${JSON.stringify(statuses)}`);
  accepted.set(subject, accepted.get(subject)! + posted);
  const lists: Record<string, number> = {};
  for (const kind of Object.keys(KINDS)) lists[kind] = await listed(subject, kind);
  return { perSecond, p50, p99, lists };
}

/** Milliseconds of a page, the middle one of many. */
async function listed(subject: Subject, kind: string): Promise<number> {
  const times: number[] = [];
  const base = KINDS[kind]!(subject);
  for (let count = 0; count < LISTS; count++) {
    let cursor: string | null = null;
    for (let page = 0; page < (kind === DEEP ? PAGES : 1); page++) {
      const began = performance.now();
      const answer = await fetch(
        `${subject.url}/v1/messages?${base}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
        { headers: { authorization: `Bearer ${subject.apiKey}` } },
      );
      const body = (await answer.json()) as { next_cursor: string | null };
      if (!answer.ok) throw new Error(`a list was answered ${answer.status}`);
      times.push(performance.now() - began);
      cursor = body.next_cursor;
      if (cursor === null) break;
    }
  }
  return percentile(times, 0.5);
}

function print(subjects: Subject[], rounds: Map<Subject, Round[]>): void {
  const [empty] = subjects;
  const table = new Table(`${ROUNDS} rounds of ${SECONDS} s for each database, ${CONNECTIONS} connections`);
  const rows: [string, (round: Round) => number, number][] = [
    ['accepted/s', (round) => round.perSecond, 0],
    ['202 after, p50 ms', (round) => round.p50, 1],
    ['202 after, p99 ms', (round) => round.p99, 1],
    ...Object.keys(KINDS).map(
      (kind) =>
        [`list, ${kind}: ms`, (round: Round) => round.lists[kind]!, 1] as [
          string,
          (r: Round) => number,
          number,
        ],
    ),
  ];
  for (const [name, pick, digits] of rows) {
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
        );
    }
  }
  table.print();
  const filled = subjects.map(({ messages, fillSeconds }) => `${messages} in ${fillSeconds.toFixed(0)} s`);
  console.log(`\nfilled: ${filled.join(', ')}; ratios are of pairs of rounds`);
}

/** What was accepted is there, beside what was there before. */
async function checkSums(subject: Subject): Promise<void> {
  const [row] = await query<{ count: string }>(subject.databaseUrl, 'SELECT count(*) FROM messages');
  const expected = subject.messages + accepted.get(subject)!;
  if (Number(row!.count) !== expected)
    throw new Error(`${row!.count} messages are there, and not ${expected}`);
  console.log(`${subject.messages} before, ${accepted.get(subject)!} accepted: all ${expected} are there`);
}

await main();
