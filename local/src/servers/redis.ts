import { mkdirSync } from 'node:fs';
import { createClient } from 'redis';
import { freePort, launch, untilReady, type RunningServer, type ServerProcess } from './process.js';
import { findRedis } from './redis-binary.js';

export interface RedisOptions {
  dataDir: string;
  logFile: string;
  password: string;
  /** Where a fetched server is kept. */
  cacheDir: string;
  /** A free one when not given. */
  port?: number;
  /** For tests only: nothing is written to disk. */
  inMemory?: boolean;
  say?: (line: string) => void;
}

const START_LIMIT_MS = 30_000;
const STOP_GRACE_MS = 10_000;

export async function startRedis(options: RedisOptions): Promise<RunningServer> {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const port = options.port ?? (await freePort());
  const { inContainer, ...command } = findRedis(options, port);
  const server = launch({
    ...command,
    // The settings come in on standard input: the password is not to be read in the list of processes.
    input: settings(port, options, inContainer),
    lastWill: 'TERM',
    logFile: options.logFile,
  });
  const url = `redis://default:${encodeURIComponent(options.password)}@127.0.0.1:${port}`;
  try {
    await untilReady(server, () => greet(url, inContainer ? undefined : server.pid), START_LIMIT_MS);
  } catch (error) {
    await stop(server);
    throw error;
  }
  return { url, process: server, stop: () => stop(server) };
}

/** On SIGTERM Redis writes what it holds and ends. */
const stop = (server: ServerProcess) => server.stop('SIGTERM', STOP_GRACE_MS);

function settings(port: number, options: RedisOptions, inContainer: boolean): string {
  const lines = [
    // What a container publishes reaches 127.0.0.1 only, too.
    ...(inContainer
      ? ['bind 0.0.0.0', 'port 6379', 'dir /data']
      : ['bind 127.0.0.1', `port ${port}`, `dir "${options.dataDir}"`]),
    `requirepass "${options.password}"`,
    'maxmemory-policy noeviction',
    'save ""',
    options.inMemory ? 'appendonly no' : 'appendonly yes',
    'appendfsync everysec',
  ];
  return `${lines.join('\n')}\n`;
}

async function greet(url: string, pid: number | undefined): Promise<void> {
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: 1000 } });
  client.on('error', () => {});
  try {
    await client.connect();
    // Where the port belongs to another server, that one may answer before this one has given up.
    const [, answering] = /^process_id:(\d+)/m.exec(await client.info('server')) ?? [];
    if (pid !== undefined && Number(answering) !== pid)
      throw new Error('another server answers on this port');
  } finally {
    client.destroy();
  }
}
