import { createClient } from 'redis';
import { Exposition } from '../../support/exposition.js';
import { processorTimes, type ProcessorTimes } from '../shared/processor.js';
import type { Stage } from './stage.js';

/**
 * Counters so far: CPU time of each part, internal API calls by route, Postgres transactions, Redis commands. The
 * difference of two snapshots, divided by the messages between them, is the cost of a message. Calls and transactions
 * hardly depend on other load of the machine.
 */
export interface Costs {
  processor: ProcessorTimes;
  counts: Map<string, number>;
}

export async function lookAtCosts(stage: Stage): Promise<Costs> {
  const { servers, gateway } = stage;
  const processor = processorTimes({
    api: gateway.apis[0]!.pid,
    worker: gateway.workers[0]!.pid,
    'operator and engines': gateway.operator.pid,
    postgres: servers.postgres.process?.pid,
    redis: servers.redis.process?.pid,
  });
  const counts = new Map<string, number>();
  for (const [route, calls] of await internalCalls(stage)) counts.set(route, calls);
  counts.set('transactions', await transactions(stage));
  counts.set('commands of Redis', await commandsOfRedis(servers.redis.url));
  return { processor, counts };
}

async function internalCalls({ gateway }: Stage): Promise<Map<string, number>> {
  const { samples } = await Exposition.of(Number(new URL(gateway.urls[0]!).port));
  const calls = new Map<string, number>();
  for (const { name, labels, value } of samples) {
    if (name !== 'gwk_internal_call_duration_seconds_count') continue;
    const route = labels['route'] ?? '';
    if (!route.startsWith('/engine/')) continue;
    const what = route.slice('/engine/'.length);
    calls.set(what, (calls.get(what) ?? 0) + value);
  }
  return calls;
}

async function transactions({ db }: Stage): Promise<number> {
  const [row] = await db.$queryRaw<{ ended: bigint }[]>`
    SELECT xact_commit + xact_rollback AS ended FROM pg_stat_database WHERE datname = current_database()`;
  return Number(row!.ended);
}

async function commandsOfRedis(url: string): Promise<number> {
  const redis = await createClient({ url }).connect();
  try {
    return Number(/^total_commands_processed:(\d+)/m.exec(await redis.info('stats'))?.[1] ?? 0);
  } finally {
    await redis.close();
  }
}

/** Costs between two snapshots. */
export function costsBetween(before: Costs, after: Costs): Costs {
  const difference = (from: Map<string, number>, to: Map<string, number>): Map<string, number> =>
    new Map([...to].map(([name, value]) => [name, value - (from.get(name) ?? 0)]));
  return {
    processor: difference(before.processor, after.processor),
    counts: difference(before.counts, after.counts),
  };
}
