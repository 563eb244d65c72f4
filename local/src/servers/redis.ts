import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'redis';
import { findOnPath, installPackage } from './packages.js';
import { commandSucceeds, findFreePort, start, type RunningServer } from './process.js';

export interface RedisOptions {
  dataDir: string;
  logFile: string;
  password: string;
  /** A free port by default. */
  port?: number;
  /** For tests only: writes nothing to disk. */
  inMemory?: boolean;
  /** Called before an installation. */
  log?: (line: string) => void;
}

/** Command of a server that reads its configuration from standard input. */
interface RedisCommand {
  command: string;
  args: string[];
  inContainer: boolean;
}

/** Debian's server package would also start a service. This one contains the same binary under another name. */
const DEBIAN_PACKAGE = 'redis-tools';
const DEBIAN_BINARY = 'redis-check-rdb';
const IMAGE = 'redis:7';

const NOT_AVAILABLE =
  'no Redis server found. Do one of these and try again:\n' +
  '  - install redis-server or valkey-server with the package manager\n' +
  '  - install and start Docker\n' +
  '  - set REDIS_URL to your own Redis or Valkey';

const START_LIMIT_MS = 30_000;
const STOP_GRACE_MS = 10_000;

export async function startRedis(options: RedisOptions): Promise<RunningServer> {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const port = options.port ?? (await findFreePort());
  const { inContainer, ...command } = findRedis(options, port);
  const url = `redis://default:${encodeURIComponent(options.password)}@127.0.0.1:${port}`;
  const server = await start({
    ...command,
    // Pass the settings on standard input, so that the process list does not show the password.
    input: settings(port, options, inContainer),
    parentDeathSignal: 'TERM',
    logFile: options.logFile,
    ready: ({ pid }) => checkServer(url, inContainer ? undefined : pid),
    limitMs: START_LIMIT_MS,
    // On SIGTERM, Redis saves its data and exits.
    stopSignal: 'SIGTERM',
    graceMs: STOP_GRACE_MS,
  });
  return { url, ...server };
}

function settings(port: number, options: RedisOptions, inContainer: boolean): string {
  const lines = [
    // The container's port is published on 127.0.0.1 only.
    ...(inContainer
      ? ['bind 0.0.0.0', 'port 6379', 'dir /data']
      : ['bind 127.0.0.1', `port ${port}`, `dir "${options.dataDir}"`]),
    `requirepass "${options.password}"`,
    'maxmemory-policy noeviction',
    'proto-max-bulk-len 1mb',
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

/** @throws Error with possible fixes, if no server is available */
function findRedis(options: RedisOptions, port: number): RedisCommand {
  let command = findServer(options);
  if (command === undefined) {
    installPackage(DEBIAN_PACKAGE, options.log);
    command = findServer(options);
  }
  const found = command ? { command, args: ['-'], inContainer: false } : container(options.dataDir, port);
  if (!found) throw new Error(NOT_AVAILABLE);
  return found;
}

function findServer({ dataDir }: RedisOptions): string | undefined {
  const server = findOnPath('redis-server') ?? findOnPath('valkey-server');
  const tool = findOnPath(DEBIAN_BINARY);
  if (server !== undefined || tool === undefined) return server;
  // The binary runs as a server when it is called by that name.
  const link = join(dataDir, 'redis-server');
  rmSync(link, { force: true });
  symlinkSync(tool, link);
  return link;
}

function container(dataDir: string, port: number): RedisCommand | undefined {
  if (findOnPath('docker') === undefined || !commandSucceeds(['docker', 'pull', '--quiet', IMAGE]))
    return undefined;
  const name = `gwk-redis-${port}`;
  // Remove the container of a client that was killed.
  commandSucceeds(['docker', 'rm', '--force', name]);
  const user = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const options = ['--interactive', '--rm', '--name', name, '--user', user, '--volume', `${dataDir}:/data`];
  const publish = ['--publish', `127.0.0.1:${port}:6379`];
  return {
    command: 'docker',
    args: ['run', ...options, ...publish, IMAGE, 'redis-server', '-'],
    inContainer: true,
  };
}
