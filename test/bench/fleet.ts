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
 * `make bench-fleet`: engines of linked phone numbers on the simulated network. First all engine processes are killed
 * and restarted at once, then the network has an outage. Measures the time until all are connected again, and the peak
 * load on Postgres and Redis. The network bans phone numbers with too many logins; at the end none may be banned,
 * logged out or replaced.
 *
 * After an unexpected exit of an engine the operator backs off: not at all the first time, then 1, 2, 4, 8 s and so on,
 * minus up to a fifth. So rounds with killed engines differ, and the table shows each of them.
 *
 * Settings: `NUMBERS` (60 by default; 400 in the long form), `ROUNDS`, `REST` seconds after each. The table shows the
 * memory of all processes, and how many engines fit in 12 GiB.
 */
const NUMBERS = setting('NUMBERS', 60);
const ROUNDS = setting('ROUNDS', 5);
const REST_SECONDS = setting('REST', 5);
const OUTAGE_SECONDS = setting('OUTAGE', 3);
const LIMIT_MS = 60_000 + NUMBERS * 5_000;
const MEMORY_MB = 12 * 1024;

/** A recovery takes one login. More than these within a minute count as abuse. */
const LOGIN_LIMIT = { times: 5, seconds: 60, minutes: 60 };

interface Round extends Asked {
  halfSeconds: number;
  allSeconds: number;
  /** Most logins of one phone number, including the rest after the round. */
  mostLogins: number;
}

const FIGURES: { name: string; pick: (round: Round) => number; digits: number }[] = [
  { name: 'half connected after, s', pick: (r) => r.halfSeconds, digits: 1 },
  { name: 'all connected after, s', pick: (r) => r.allSeconds, digits: 1 },
  { name: 'logins of one phone number, max', pick: (r) => r.mostLogins, digits: 0 },
  { name: 'Postgres: connections, max', pick: (r) => r.connections, digits: 0 },
  { name: 'Postgres: transactions/s, max', pick: (r) => r.transactionsPerSecond, digits: 0 },
  { name: 'Postgres: cores, max', pick: (r) => r.postgresCores, digits: 2 },
  { name: 'Redis: clients, max', pick: (r) => r.clients, digits: 0 },
  { name: 'Redis: commands/s, max', pick: (r) => r.commandsPerSecond, digits: 0 },
  { name: 'Redis: cores, max', pick: (r) => r.redisCores, digits: 2 },
];

async function main({ instances, servers, db }: OnNetwork): Promise<void> {
  progress(`linking ${NUMBERS} phone numbers`);
  await instances.grow(NUMBERS);
  await pause(REST_SECONDS * 1000);
  const linked = readMemoryUse(instances, servers);
  const killed: Round[] = [];
  const outages: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    progress(`round ${round + 1} of ${ROUNDS}`);
    killed.push(await measure(servers, instances, () => killAll(instances)));
    outages.push(await measure(servers, instances, () => outage(instances)));
  }
  print(killed, outages);
  printCapacity([linked, readMemoryUse(instances, servers)]);
  await checkConnections(instances, db);
}

/**
 * Measures a recovery. The network counts the connections, because the gateway may not know yet that an engine is dead.
 *
 * @param fell resolves once all are disconnected and may reconnect
 */
async function measure(
  servers: BenchServers,
  instances: LinkedInstances,
  fell: () => Promise<void>,
): Promise<Round> {
  const { client } = instances.network;
  await client.limitLogins(LOGIN_LIMIT);
  const sampler = await Sampler.start(servers);
  await fell();
  const began = performance.now();
  let halfSeconds: number | undefined;
  let lost: string | undefined;
  await until(
    async () => {
      const { loggedIn, logins } = await client.status();
      lost = lostConnections(logins);
      const seconds = (performance.now() - began) / 1000;
      if (loggedIn >= NUMBERS / 2) halfSeconds ??= seconds;
      return loggedIn === NUMBERS;
    },
    { what: 'all are connected again', timeoutMs: LIMIT_MS, everyMs: 100, giveUp: () => lost },
  );
  const allSeconds = (performance.now() - began) / 1000;
  const { most } = await sampler.stop();
  // A connection that drops again does so soon.
  await pause(REST_SECONDS * 1000);
  const { logins } = await client.status();
  lost = lostConnections(logins);
  if (lost !== undefined) throw new Error(lost);
  return { ...most, halfSeconds: halfSeconds!, allSeconds, mostLogins: logins.most };
}

/** Returns the reason if a phone number was banned or replaced. */
function lostConnections({ banned, replaced }: LoginCounts): string | undefined {
  if (banned > 0) return `${banned} phone numbers were banned for more than ${LOGIN_LIMIT.times} logins`;
  return replaced > 0 ? `${replaced} connections were replaced (440)` : undefined;
}

async function killAll(instances: LinkedInstances): Promise<void> {
  const pids = instances.enginePids();
  if (pids.length !== NUMBERS) throw new Error(`${pids.length} engines run, and not ${NUMBERS}`);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await untilDisconnected(instances);
}

async function outage(instances: LinkedInstances): Promise<void> {
  const { client } = instances.network;
  await client.outage(true, { cut: true });
  await untilDisconnected(instances);
  await pause(OUTAGE_SECONDS * 1000);
  await client.outage(false);
}

async function untilDisconnected({ network }: LinkedInstances): Promise<void> {
  await until(async () => (await network.client.status()).loggedIn < NUMBERS / 2, {
    what: 'they are disconnected',
    everyMs: 20,
  });
}

function print(killed: Round[], outages: Round[]): void {
  const each = killed.map((_, index) => `round ${index + 1}`);
  const restarts = new Table(`${NUMBERS} linked phone numbers, all engines killed at once`, each);
  for (const { name, pick, digits } of FIGURES)
    restarts.row(
      name,
      killed.map((round) => pick(round).toFixed(digits)),
    );
  restarts.print();
  const back = new Table(
    `${NUMBERS} linked phone numbers, network outage of ${OUTAGE_SECONDS} s, ${ROUNDS} rounds`,
  );
  for (const { name, pick, digits } of FIGURES) back.rounds(name, outages.map(pick), digits);
  back.print();
}

/** Megabytes (PSS). */
interface MemoryUse {
  engines: number;
  programs: number;
  stores: number;
}

function readMemoryUse(instances: LinkedInstances, { postgres, redis }: BenchServers): MemoryUse {
  return {
    engines: readTotalMemory(instances.enginePids()).share,
    programs: readTotalMemory(instances.gateway.programs.flatMap(({ pid }) => pid ?? [])).share,
    stores: readFamilyMemory(listPids(postgres, redis)).share,
  };
}

/** Uses the moment with the highest memory per engine. */
function printCapacity(moments: MemoryUse[]): void {
  const fitting = ({ engines, programs, stores }: MemoryUse) =>
    Math.floor((MEMORY_MB - programs - stores) / (engines / NUMBERS));
  const [most] = moments.sort((a, b) => fitting(a) - fitting(b));
  const { engines, programs, stores } = most!;
  console.log(
    `\npeak memory (PSS): engines ${engines.toFixed(0)} MB, API, worker and operator ${programs.toFixed(0)} MB, ` +
      `Postgres and Redis ${stores.toFixed(0)} MB; ${fitting(most!)} such engines fit in 12 GiB beside them`,
  );
}

/**
 * Checks that no phone number was logged out or banned and the network reports no violation. On a busy machine a
 * connection may drop again, so it waits until the gateway reports all as connected.
 */
async function checkConnections(instances: LinkedInstances, db: Database): Promise<void> {
  const { customer, network } = instances;
  for (const type of ['instance.banned', 'instance.logged_out']) {
    const events = await customer.client.events({ type });
    if (events.length > 0) throw new Error(`${events.length} times ${type}`);
  }
  const began = performance.now();
  await untilAllConnected(db);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  await network.checked();
  console.log(
    `the gateway reports all ${NUMBERS} as connected, ${seconds} s after the last rest; none was banned, ` +
      'logged out or replaced; the network reports no violation',
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
    { what: 'the gateway reports all as connected', timeoutMs: LIMIT_MS, everyMs: 1_000 },
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${how().join(', ')}`, { cause: error });
  });
}

await onNetwork(main);
