import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@gwk/local/servers/postgres';
import type { RunningServer } from '@gwk/local/servers/process';
import { startRedis } from '@gwk/local/servers/redis';
import type { Store } from '../../support/servers/stores.js';
import { noteVersions } from './heading.js';
import { setting } from './table.js';

/** Postgres and Redis with production settings: they wait for their disk (`SYNC=off`: Postgres does not). */
export interface BenchServers {
  folder: string;
  postgres: RunningServer;
  redis: RunningServer;
  /** For a gateway of the test support, which must not stop them. */
  stores: { postgres: Store; redis: Store };
  stop(): Promise<void>;
}

const PASSWORD = 'bench';

/** @param sharedBuffersMb of Postgres. Defaults to the value of `make run`. */
export async function startBenchServers(sharedBuffersMb?: number): Promise<BenchServers> {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-bench-'));
  const started: RunningServer[] = [];
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // The servers exit with this process in any case. The folder would remain.
  process.once('exit', remove);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const stop = async () => {
    for (const server of started.reverse()) await server.stop();
    process.off('exit', remove);
    remove();
  };
  try {
    const postgres = await startPostgres({
      dataDir: join(folder, 'postgres'),
      logFile: join(folder, 'postgres.log'),
      password: PASSWORD,
      database: 'gwk',
      maxConnections: setting('MAX_CONNECTIONS', 200),
      withoutSync: process.env['SYNC'] === 'off',
      ...(sharedBuffersMb !== undefined && { sharedBuffersMb }),
    });
    started.push(postgres);
    const redis = await startRedis({
      dataDir: join(folder, 'redis'),
      logFile: join(folder, 'redis.log'),
      password: PASSWORD,
    });
    started.push(redis);
    await noteVersions(postgres.url, redis.url);
    const stores = { postgres: lent(postgres.url), redis: lent(redis.url) };
    return { folder, postgres, redis, stores, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Process ids of servers that this machine has started. */
export const listPids = (...servers: RunningServer[]): number[] =>
  servers.flatMap(({ process }) => process?.pid ?? []);

function lent(url: string): Store {
  const refuse = () => Promise.reject(new Error('this server belongs to the benchmark'));
  return { url, kill: refuse, start: refuse, stop: () => Promise.resolve() };
}
