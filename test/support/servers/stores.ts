import { mkdirSync } from 'node:fs';
import type { RunningServer } from '@gwk/local/servers/process';
import { createTestDatabase } from './database.js';
import { pickPort } from '../ports.js';
import { redisUrl, startTestPostgres, startTestRedis } from './servers.js';
import { until } from '../wait.js';

/** Postgres or Redis as a gateway of the tests uses it. */
export interface Store {
  url: string;
  /** Only for one of the test's own. */
  kill(signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT'): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const notOurs = () =>
  Promise.reject(new Error('a shared server is not to be killed: ask for one of its own'));

/** A database of its own on the server that all tests share. */
export async function sharedPostgres(): Promise<Store> {
  const database = await createTestDatabase();
  return { url: database.url, kill: notOurs, start: notOurs, stop: () => database.drop() };
}

/** The Redis that all tests share; keys are told apart by prefix. */
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
      // After a kill -9, what the dead server's children still hold is free only once they have noticed.
      server = await until(() => start(port), { what: 'the killed server starts again' });
    },
    async stop() {
      await server?.stop();
      server = undefined;
    },
  };
}
