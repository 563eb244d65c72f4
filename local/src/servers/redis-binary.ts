import { spawnSync } from 'node:child_process';
import { accessSync, constants, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { commandSucceeds } from './process.js';

/** Command of a server that reads its configuration from standard input. */
interface RedisCommand {
  command: string;
  args: string[];
  inContainer: boolean;
}

interface RedisSearch {
  dataDir: string;
  /** Called before an installation. */
  log?: (line: string) => void;
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

/** @throws Error with possible fixes, if no server is available */
export function findRedis(search: RedisSearch, port: number): RedisCommand {
  const command = findServer(search) ?? install(search);
  const found = command ? { command, args: ['-'], inContainer: false } : container(search.dataDir, port);
  if (!found) throw new Error(NOT_AVAILABLE);
  return found;
}

function findServer({ dataDir }: RedisSearch): string | undefined {
  const server = findOnPath('redis-server') ?? findOnPath('valkey-server');
  const tool = findOnPath(DEBIAN_BINARY);
  if (server !== undefined || tool === undefined) return server;
  // The binary runs as a server when it is called by that name.
  const link = join(dataDir, 'redis-server');
  rmSync(link, { force: true });
  symlinkSync(tool, link);
  return link;
}

function findOnPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Installs the Debian package. Only root can. */
function install(search: RedisSearch): string | undefined {
  if (process.getuid?.() !== 0 || findOnPath('apt-get') === undefined) return undefined;
  search.log?.(`installing the package ${DEBIAN_PACKAGE} (once)`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (args: string[]) => spawnSync('apt-get', args, { stdio: 'ignore', env }).status === 0;
  const redis = ['install', '-y', '-q', '--no-install-recommends', DEBIAN_PACKAGE];
  // The package lists may be missing or outdated, so the first attempt may fail.
  if (!apt(redis) && apt(['update', '-q'])) apt(redis);
  return findServer(search);
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
