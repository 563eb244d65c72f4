import type { Database } from '@gwk/api/database/database';
import type { LoginCounts } from '@gwk/network/faults/logins';
import { pause, until } from '../support/wait.js';
import type { LinkedInstances } from './shared/linked-instances.js';
import { Sampler, type Asked } from './shared/sampler.js';
import { listPids, type BenchServers } from './shared/servers.js';
import { onNetwork, type OnNetwork } from './shared/stage.js';
import { progress, setting, Table } from './shared/table.js';
import { readTotalMemory, readFamilyMemory } from './shared/usage.js';

/**
 * `make bench-fleet`: engines of linked numbers on the simulated network, all at once: first all of their processes are
 * killed and start anew, then the network is away and comes back. How long until all are connected again, and the most
 * that it asks of Postgres and Redis. The network bans numbers that log in too often; in the end none was banned, logged
 * out or replaced.
 *
 * After an engine that has ended unasked the operator waits before it starts the next: not at all the first time, then
 * 1, 2, 4, 8 s and so on, less up to a fifth. So no round with killed engines is like the one before, and they are told
 * one by one.
 *
 * `NUMBERS` (60), `ROUNDS`, `REST` seconds after each. The table says what all processes take of memory, and so how
 * many fit in 12 GiB: `NUMBERS=400` is the long form.
 */
const NUMBERS = setting('NUMBERS', 60);
const ROUNDS = setting('ROUNDS', 5);
const REST_SECONDS = setting('REST', 5);
const AWAY_SECONDS = setting('AWAY', 3);
const LIMIT_MS = 60_000 + NUMBERS * 5_000;
const ROOM_MB = 12 * 1024;

/** To come back takes one login. More in a minute than these, and the network takes it for abuse. */
const LOGIN_LIMIT = { times: 5, seconds: 60, minutes: 60 };

interface Round extends Asked {
  halfSeconds: number;
  allSeconds: number;
  /** Of one number, until the rest after it is over. */
  mostLogins: number;
}

const FIGURES: { name: string; pick: (round: Round) => number; digits: number }[] = [
  { name: 'half of them connected after, s', pick: (r) => r.halfSeconds, digits: 1 },
  { name: 'all of them connected after, s', pick: (r) => r.allSeconds, digits: 1 },
  { name: 'logins of one number at most', pick: (r) => r.mostLogins, digits: 0 },
  { name: 'Postgres: connections at most', pick: (r) => r.connections, digits: 0 },
  { name: 'Postgres: transactions/s at most', pick: (r) => r.transactionsPerSecond, digits: 0 },
  { name: 'Postgres: cores at most', pick: (r) => r.postgresCores, digits: 2 },
  { name: 'Redis: clients at most', pick: (r) => r.clients, digits: 0 },
  { name: 'Redis: commands/s at most', pick: (r) => r.commandsPerSecond, digits: 0 },
  { name: 'Redis: cores at most', pick: (r) => r.redisCores, digits: 2 },
];

async function main({ numbers, servers, db }: OnNetwork): Promise<void> {
  progress(`linking ${NUMBERS} numbers`);
  await numbers.grow(NUMBERS);
  await pause(REST_SECONDS * 1000);
  const linked = taken(numbers, servers);
  const killed: Round[] = [];
  const away: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    progress(`round ${round + 1} of ${ROUNDS}`);
    killed.push(await measure(servers, numbers, () => killAll(numbers)));
    away.push(await measure(servers, numbers, () => outage(numbers)));
  }
  print(killed, away);
  printRoom([linked, taken(numbers, servers)]);
  await checkNobodyIsOut(numbers, db);
}

/**
 * Who is connected is what the network says: of a dead engine the gateway may not know yet.
 *
 * @param fell resolves once all have fallen and may come back
 */
async function measure(
  servers: BenchServers,
  numbers: LinkedInstances,
  fell: () => Promise<void>,
): Promise<Round> {
  const { client } = numbers.network;
  await client.limitLogins(LOGIN_LIMIT);
  const sampler = await Sampler.start(servers);
  await fell();
  const began = performance.now();
  let halfSeconds: number | undefined;
  let out: string | undefined;
  await until(
    async () => {
      const { loggedIn, logins } = await client.status();
      out = whoIsOut(logins);
      const seconds = (performance.now() - began) / 1000;
      if (loggedIn >= NUMBERS / 2) halfSeconds ??= seconds;
      return loggedIn === NUMBERS;
    },
    { what: 'all are connected again', timeoutMs: LIMIT_MS, everyMs: 100, giveUp: () => out },
  );
  const allSeconds = (performance.now() - began) / 1000;
  const { most } = await sampler.stop();
  // Who falls out again does so soon.
  await pause(REST_SECONDS * 1000);
  const { logins } = await client.status();
  out = whoIsOut(logins);
  if (out !== undefined) throw new Error(out);
  return { ...most, halfSeconds: halfSeconds!, allSeconds, mostLogins: logins.most };
}

/** Undefined where nobody is for how they came back. */
function whoIsOut({ banned, replaced }: LoginCounts): string | undefined {
  if (banned > 0) return `${banned} numbers were banned for more than ${LOGIN_LIMIT.times} logins`;
  return replaced > 0 ? `${replaced} connections were replaced (440)` : undefined;
}

async function killAll(numbers: LinkedInstances): Promise<void> {
  const pids = numbers.enginePids();
  if (pids.length !== NUMBERS) throw new Error(`${pids.length} engines run, and not ${NUMBERS}`);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await untilNobody(numbers);
}

async function outage(numbers: LinkedInstances): Promise<void> {
  const { client } = numbers.network;
  await client.outage(true, { cut: true });
  await untilNobody(numbers);
  await pause(AWAY_SECONDS * 1000);
  await client.outage(false);
}

async function untilNobody({ network }: LinkedInstances): Promise<void> {
  await until(async () => (await network.client.status()).loggedIn < NUMBERS / 2, {
    what: 'they are gone',
    everyMs: 20,
  });
}

function print(killed: Round[], away: Round[]): void {
  const each = killed.map((_, index) => `round ${index + 1}`);
  const anew = new Table(`${NUMBERS} linked numbers, all engines killed and started anew at once`, each);
  for (const { name, pick, digits } of FIGURES)
    anew.row(
      name,
      killed.map((round) => pick(round).toFixed(digits)),
    );
  anew.print();
  const back = new Table(`${NUMBERS} linked numbers, network away for ${AWAY_SECONDS} s, ${ROUNDS} rounds`);
  for (const { name, pick, digits } of FIGURES) back.rounds(name, away.map(pick), digits);
  back.print();
}

/** Megabytes (PSS). */
interface Taken {
  engines: number;
  programs: number;
  stores: number;
}

function taken(numbers: LinkedInstances, { postgres, redis }: BenchServers): Taken {
  return {
    engines: readTotalMemory(numbers.enginePids()).share,
    programs: readTotalMemory(numbers.gateway.programs.flatMap(({ pid }) => pid ?? [])).share,
    stores: readFamilyMemory(listPids(postgres, redis)).share,
  };
}

/** By the moment at which they took the most. */
function printRoom(moments: Taken[]): void {
  const fitting = ({ engines, programs, stores }: Taken) =>
    Math.floor((ROOM_MB - programs - stores) / (engines / NUMBERS));
  const [most] = moments.sort((a, b) => fitting(a) - fitting(b));
  const { engines, programs, stores } = most!;
  console.log(
    `\nmemory (PSS) at most: engines ${engines.toFixed(0)} MB, API, worker and operator ${programs.toFixed(0)} MB, ` +
      `Postgres and Redis ${stores.toFixed(0)} MB; ${fitting(most!)} engines as these fit in 12 GiB beside them`,
  );
}

/**
 * Nobody was thrown out for how they came back, and the network has nothing to complain of. Who is logged in there may
 * have fallen out again where the machine has too much to do: the gateway says so, and in the end that all are in.
 */
async function checkNobodyIsOut(numbers: LinkedInstances, db: Database): Promise<void> {
  const { customer, network } = numbers;
  for (const type of ['instance.banned', 'instance.logged_out']) {
    const events = await customer.client.events({ type });
    if (events.length > 0) throw new Error(`${events.length} times ${type}`);
  }
  const began = performance.now();
  await untilAllConnected(db);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  await network.checked();
  console.log(
    `all ${NUMBERS} are connected as the gateway says, ${seconds} s after the last rest; none was banned, ` +
      'logged out or replaced, the network complains of nothing',
  );
}

async function untilAllConnected(db: Database): Promise<void> {
  let others: { state: string; stateReason: string | null }[] = [];
  const how = () => others.map(({ state, stateReason }) => `${state} (${stateReason ?? 'no reason'})`);
  await until(
    async () => {
      others = await db.instance.findMany({
        where: { state: { not: 'connected' } },
        select: { state: true, stateReason: true },
      });
      return others.length === 0;
    },
    { what: 'the gateway says that all are connected', timeoutMs: LIMIT_MS, everyMs: 1_000 },
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${how().join(', ')}`, { cause: error });
  });
}

await onNetwork(main);
