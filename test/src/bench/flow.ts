import { cpus } from 'node:os';
import { startSharedServers } from '../harness/shared.js';
import { openStage, type Stage } from '../harness/stage.js';
import { sendTraffic, type Traffic } from '../harness/traffic.js';
import { until } from '../harness/wait.js';

/**
 * `make bench-flow`: from the 202 to `sent`, through Redis, the engine, the sandbox driver and the internal port,
 * with real processes and all limits in force. The network is a process apart that acknowledges at once. One
 * instance has 6,000 sends a minute, all of which it may use at once: each round uses a fresh instance.
 */
const ROUNDS = 3;
const FULL_RATE = { conversations: 100, perConversation: 40 };
const STEADY = { conversations: 100, perConversation: 20, perSecond: 100 };

interface Round {
  perSecond: number;
  accepted: number;
  p50: number;
  p99: number;
}

const percentile = (sorted: number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

const median = (values: number[]): number =>
  percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  );

async function main(): Promise<void> {
  const servers = await startSharedServers();
  try {
    const full: Round[] = [];
    const steady: Round[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      full.push(await inFreshGateway((stage) => measure(stage, FULL_RATE)));
      steady.push(await inFreshGateway((stage) => measure(stage, STEADY)));
    }
    print(full, steady);
  } finally {
    await servers.stop();
  }
}

async function inFreshGateway<T>(run: (stage: Stage) => Promise<T>): Promise<T> {
  const stage = await openStage('bench-flow');
  try {
    return await run(stage);
  } finally {
    await stage.close();
  }
}

async function measure(
  stage: Stage,
  plan: { conversations: number; perConversation: number; perSecond?: number },
): Promise<Round> {
  const { customer, instance } = stage;
  const run = (name: string, count: typeof plan) =>
    sendTraffic({ clients: customer.clients, instanceId: instance.id, name, ...count });
  await run('warm-up', { conversations: 20, perConversation: 5 });
  const started = Date.now();
  const traffic = await run('measured', plan);
  const accepted = Date.now();
  const messages = await sentMessages(stage, traffic);
  const latencies = messages
    .map(({ created_at, sent_at }) => Date.parse(sent_at!) - Date.parse(created_at))
    .sort((a, b) => a - b);
  const last = Math.max(...messages.map(({ sent_at }) => Date.parse(sent_at!)));
  return {
    perSecond: traffic.count / ((last - started) / 1000),
    accepted: traffic.count / ((accepted - started) / 1000),
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

async function sentMessages(stage: Stage, traffic: Traffic) {
  const { client } = stage.customer;
  await until(
    async () => {
      const waiting = ['queued', 'sending'].map((status) => client.anyMessage({ status }));
      return !(await Promise.all(waiting)).includes(true);
    },
    { what: 'all are sent', everyMs: 200, timeoutMs: 300_000 },
  );
  const messages = await client.messages({ since: traffic.startedAt.toISOString() });
  const sent = messages.filter(({ sent_at }) => sent_at !== null);
  if (sent.length !== traffic.count) throw new Error(`${sent.length} of ${traffic.count} were sent`);
  return sent;
}

function print(full: Round[], steady: Round[]): void {
  const row = (name: string, values: number[], digits = 0) =>
    [name.padEnd(48), ...values, median(values)]
      .map((value) => (typeof value === 'number' ? value.toFixed(digits).padStart(9) : value))
      .join(' ');
  const heading = [''.padEnd(48), 'round 1', 'round 2', 'round 3', 'median'];
  console.log(`accepted to sent, one instance, sandbox driver, ${cpus().length} cores`);
  console.log(heading.map((name, index) => (index === 0 ? name : name.padStart(9))).join(' '));
  console.log(
    row(
      'full rate: sent a second',
      full.map((r) => r.perSecond),
    ),
  );
  console.log(
    row(
      'full rate: accepted a second',
      full.map((r) => r.accepted),
    ),
  );
  console.log(
    row(
      'full rate: 202 to sent, p99 ms',
      full.map((r) => r.p99),
    ),
  );
  console.log(
    row(
      '100 a second: sent a second',
      steady.map((r) => r.perSecond),
    ),
  );
  console.log(
    row(
      '100 a second: 202 to sent, p50 ms',
      steady.map((r) => r.p50),
    ),
  );
  console.log(
    row(
      '100 a second: 202 to sent, p99 ms',
      steady.map((r) => r.p99),
    ),
  );
}

await main();
