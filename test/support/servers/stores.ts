import { mkdirSync } from 'node:fs';
import type { RunningServer } from '@gwk/local/servers/process';
import { createTestDatabase } from './database.js';
import { pickPort } from '../ports.js';
import { redisUrl, startTestPostgres, startTestRedis } from './servers.js';
import { until } from '../wait.js';

/** Postgres or Redis of a test gateway. */
export interface Store {
  url: string;
  /** Only for a server of the test's own. */
  kill(signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT'): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const notOurs = () => Promise.reject(new Error('do not kill a shared server: start one for this test'));

/** Creates a database on the shared server. */
export async function sharedPostgres(): Promise<Store> {
  const database = await createTestDatabase();
  return { url: database.url, kill: notOurs, start: notOurs, stop: () => database.drop() };
}

/** The shared Redis. Tests use separate key prefixes. */
export function sharedRedis(): Store {
  return { url: redisUrl(), kill: notOurs, start: notOurs, stop: () => Promise.resolve() };
}

export function ownPostgres(folder: string): Promise<Store> {
  return ownServer((port) => startTestPostgres(folder, port), folder);
}

export function ownRedis(folder: string): Promise<Store> {
  return ownServer((port) => startTestRedis(folder, port), folder);
}

/** Starts on the same port and the same data every time. */
async function ownServer(start: (port: number) => Promise<RunningServer>, folder: string): Promise<Store> {
  mkdirSync(folder, { recursive: true });
  const port = await pickPort();
  let server: RunningServer | undefined = await start(port);
  return {
    url: server.url,
    async kill(signal) {
      await server?.process?.stop(signal, signal === 'SIGKILL' ? 1000 : 30_000);
      server = undefined;
    },
    async start() {
      // After a kill -9, the dead server's children need a moment to notice and release their resources.
      server = await until(() => start(port), { what: 'the killed server starts again' });
    },
    async stop() {
      await server?.stop();
      server = undefined;
    },
  };
}
