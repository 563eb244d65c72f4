import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareFfmpeg } from '@gwk/local/servers/ffmpeg';
import { startPostgres } from '@gwk/local/servers/postgres';
import type { RunningServer } from '@gwk/local/servers/process';
import { startRedis } from '@gwk/local/servers/redis';

/**
 * All test files of a run share one Postgres and one Redis. test/run.js, or the global setup of jest, starts them and
 * sets these variables.
 */
export const POSTGRES_VARIABLE = 'TEST_POSTGRES_URL';
export const REDIS_VARIABLE = 'TEST_REDIS_URL';

/** Cache of the downloaded Redis between runs. */

export interface TestServers {
  postgresUrl: string;
  redisUrl: string;
  stop(): Promise<void>;
}

export async function startTestServers(): Promise<TestServers> {
  await prepareFfmpeg(undefined, () => undefined);
  const folder = mkdtempSync(join(tmpdir(), 'gwk-test-'));
  const servers = await Promise.allSettled([startTestPostgres(folder), startTestRedis(folder)]);
  const started = servers.filter((server) => server.status === 'fulfilled').map((server) => server.value);
  const stop = async () => {
    await Promise.all(started.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  const [postgres, redis] = servers;
  if (postgres.status === 'fulfilled' && redis.status === 'fulfilled') {
    return { postgresUrl: postgres.value.url, redisUrl: redis.value.url, stop };
  }
  await stop();
  throw servers.find((server) => server.status === 'rejected')!.reason;
}

/** Starts a Postgres for one test that stops or kills it. `folder` keeps its data between starts. */
export function startTestPostgres(folder: string, port?: number): Promise<RunningServer> {
  return startPostgres({
    dataDir: join(folder, 'postgres'),
    logFile: join(folder, 'postgres.log'),
    password: 'test',
    maxConnections: 400,
    // Several of them run at the same time.
    sharedBuffersMb: 128,
    withoutSync: true,
    ...(port !== undefined && { port }),
  });
}

/** Starts a Redis for one test that stops it or loses its data. */
export function startTestRedis(folder: string, port?: number): Promise<RunningServer> {
  return startRedis({
    dataDir: join(folder, 'redis'),
    logFile: join(folder, 'redis.log'),
    password: 'test',
    inMemory: true,
    ...(port !== undefined && { port }),
  });
}

export function redisUrl(): string {
  return given(REDIS_VARIABLE);
}

export function postgresUrl(): string {
  return given(POSTGRES_VARIABLE);
}

function given(name: string): string {
  const url = process.env[name];
  if (url === undefined) throw new Error(`${name} is not set: run the tests with make test or npm run jest`);
  return url;
}

/** Returns a Redis key prefix for one test file. */
export function redisPrefix(): string {
  return `test-${randomBytes(6).toString('hex')}:`;
}
