import { mkdirSync } from 'node:fs';
import { createClient } from 'redis';
import { findFreePort, launch, waitUntilReady, type RunningServer, type ServerProcess } from './process.js';
import { findRedis } from './redis-binary.js';

export interface RedisOptions {
  dataDir: string;
  logFile: string;
  password: string;
  /** A free port by default. */
  port?: number;
  /** For tests only: writes nothing to disk. */
  inMemory?: boolean;
  log?: (line: string) => void;
}

const START_LIMIT_MS = 30_000;
const STOP_GRACE_MS = 10_000;

export async function startRedis(options: RedisOptions): Promise<RunningServer> {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const port = options.port ?? (await findFreePort());
  const { inContainer, ...command } = findRedis(options, port);
  const server = launch({
    ...command,
    // Pass the settings on standard input, so that the process list does not show the password.
    input: settings(port, options, inContainer),
    parentDeathSignal: 'TERM',
    logFile: options.logFile,
  });
  const url = `redis://default:${encodeURIComponent(options.password)}@127.0.0.1:${port}`;
  try {
    await waitUntilReady(
      server,
      () => checkServer(url, inContainer ? undefined : server.pid),
      START_LIMIT_MS,
    );
  } catch (error) {
    await stop(server);
    throw error;
  }
  return { url, process: server, stop: () => stop(server) };
}

/** On SIGTERM, Redis saves its data and exits. */
const stop = (server: ServerProcess) => server.stop('SIGTERM', STOP_GRACE_MS);

function settings(port: number, options: RedisOptions, inContainer: boolean): string {
  const lines = [
    // The container's port is published on 127.0.0.1 only.
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

async function checkServer(url: string, pid: number | undefined): Promise<void> {
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: 1000 } });
  client.on('error', () => {});
  try {
    await client.connect();
    // If the port belongs to another server, that one may answer first.
    const [, answering] = /^process_id:(\d+)/m.exec(await client.info('server')) ?? [];
    if (pid !== undefined && Number(answering) !== pid)
      throw new Error('another server answers on this port');
  } finally {
    client.destroy();
  }
}
