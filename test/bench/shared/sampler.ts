import pg from 'pg';
import { createClient } from 'redis';
import { pause } from '../../support/wait.js';
import { familySeconds } from './processor.js';
import { listPids, type BenchServers } from './servers.js';

/** Load on Postgres and Redis. */
export interface Asked {
  connections: number;
  transactionsPerSecond: number;
  postgresCores: number;
  clients: number;
  commandsPerSecond: number;
  redisCores: number;
}

interface Sample {
  at: number;
  transactions: number;
  connections: number;
  postgres: number;
  commands: number;
  clients: number;
  redis: number;
}

/** Postgres updates a session's transaction counters once per second. */
const EVERY_MS = 1000;

/** Samples both servers once per second until it is stopped. */
export class Sampler {
  readonly #samples: Sample[] = [];
  readonly #running: Promise<void>;
  #stopping = false;

  private constructor(
    readonly servers: BenchServers,
    readonly postgres: pg.Client,
    readonly redis: Awaited<ReturnType<typeof openRedis>>,
  ) {
    this.#running = this.#run();
  }

  static async start(servers: BenchServers): Promise<Sampler> {
    const postgres = new pg.Client({ connectionString: servers.postgres.url });
    await postgres.connect();
    return new Sampler(servers, postgres, await openRedis(servers.redis.url));
  }

  /** The maximum of any second, and the mean of all. */
  async stop(): Promise<{ most: Asked; mean: Asked }> {
    this.#stopping = true;
    await this.#running;
    await this.#look();
    await this.postgres.end();
    await this.redis.close();
    const spans = this.#samples.slice(1).map((sample, index) => spanOf(this.#samples[index]!, sample));
    return { most: combined(spans, (values) => Math.max(0, ...values)), mean: combined(spans, meanOf) };
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      await this.#look();
      await pause(EVERY_MS);
    }
  }

  async #look(): Promise<void> {
    const { rows } = await this.postgres.query<{ transactions: string; connections: string }>(
      `SELECT (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()) AS transactions,
         (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections`,
    );
    const info = await this.redis.info();
    const field = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
    const { postgres, redis } = this.servers;
    this.#samples.push({
      at: performance.now(),
      transactions: Number(rows[0]!.transactions),
      // Without this connection.
      connections: Number(rows[0]!.connections) - 1,
      postgres: familySeconds(listPids(postgres)),
      commands: field('total_commands_processed'),
      clients: field('connected_clients') - 1,
      redis: familySeconds(listPids(redis)),
    });
  }
}

const openRedis = (url: string) => createClient({ url }).connect();

function spanOf(before: Sample, after: Sample): Asked {
  const seconds = (after.at - before.at) / 1000;
  return {
    connections: after.connections,
    transactionsPerSecond: (after.transactions - before.transactions) / seconds,
    postgresCores: (after.postgres - before.postgres) / seconds,
    clients: after.clients,
    commandsPerSecond: (after.commands - before.commands) / seconds,
    redisCores: (after.redis - before.redis) / seconds,
  };
}

function combined(spans: readonly Asked[], combine: (values: number[]) => number): Asked {
  const of = (name: keyof Asked) => combine(spans.map((span) => span[name]));
  return {
    connections: of('connections'),
    transactionsPerSecond: of('transactionsPerSecond'),
    postgresCores: of('postgresCores'),
    clients: of('clients'),
    commandsPerSecond: of('commandsPerSecond'),
    redisCores: of('redisCores'),
  };
}

const meanOf = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
