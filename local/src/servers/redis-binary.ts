import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { unpackDebianPackages } from './debian-package.js';
import { commandSucceeds } from './process.js';

/** Command of a server that reads its configuration from standard input. */
interface RedisCommand {
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  inContainer: boolean;
}

interface RedisSearch {
  dataDir: string;
  /** Cache folder for a downloaded server. */
  cacheDir: string;
  /** Called before a download. */
  log?: (line: string) => void;
}

const SERVERS = ['redis-server', 'valkey-server'];
/**
 * Debian's server package would also start a service. The tools package contains the same binary under another name.
 */
const DEBIAN_PACKAGE = 'redis-tools';
const DEBIAN_BINARY = 'redis-check-rdb';
const IMAGE = 'redis:7';

const NOT_AVAILABLE =
  'no Redis server found, and none could be downloaded. Do one of these and try again:\n' +
  '  - install redis-server or valkey-server with the package manager\n' +
  '  - set REDIS_URL to your own Redis or Valkey';

/** @throws Error with possible fixes, if no server is available */
export function findRedis(search: RedisSearch, port: number): RedisCommand {
  const found = onPath(SERVERS) ?? debianTool(search.cacheDir) ?? unpacked(search.cacheDir);
  if (found) return found;
  search.log?.('downloading Redis (once)');
  const fetched =
    installed(search.cacheDir) ?? downloaded(search.cacheDir) ?? container(search.dataDir, port);
  if (!fetched) throw new Error(NOT_AVAILABLE);
  return fetched;
}

function onPath(names: string[]): RedisCommand | undefined {
  for (const name of names) {
    const path = findOnPath(name);
    if (path !== undefined) return { command: path, args: ['-'], inContainer: false };
  }
  return undefined;
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

function debianTool(cacheDir: string): RedisCommand | undefined {
  const tool = findOnPath(DEBIAN_BINARY);
  return tool === undefined ? undefined : linkAsServer(tool, cacheDir);
}

/** The binary runs as a server when it is called by that name. */
function linkAsServer(tool: string, cacheDir: string, env?: NodeJS.ProcessEnv): RedisCommand | undefined {
  const command = join(cacheDir, 'redis-server');
  mkdirSync(cacheDir, { recursive: true });
  rmSync(command, { force: true });
  symlinkSync(tool, command);
  const done = spawnSync(command, ['--version'], { encoding: 'utf8', ...(env && { env }) });
  if (done.status !== 0 || !done.stdout.includes('server v=')) return undefined;
  return { command, args: ['-'], inContainer: false, ...(env && { env }) };
}

function installed(cacheDir: string): RedisCommand | undefined {
  if (process.getuid?.() !== 0 || findOnPath('apt-get') === undefined) return undefined;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (args: string[]) => spawnSync('apt-get', args, { stdio: 'ignore', env }).status === 0;
  const install = ['install', '-y', '-q', '--no-install-recommends', DEBIAN_PACKAGE];
  // The package lists may be missing or outdated, so the first attempt may fail.
  return apt(install) || (apt(['update', '-q']) && apt(install)) ? debianTool(cacheDir) : undefined;
}

function downloaded(cacheDir: string): RedisCommand | undefined {
  if (findOnPath('apt-get') === undefined || !unpackDebianPackages([DEBIAN_PACKAGE], cacheDir))
    return undefined;
  return unpacked(cacheDir);
}

function unpacked(cacheDir: string): RedisCommand | undefined {
  const root = join(cacheDir, 'root');
  const tool = join(root, 'usr/bin', DEBIAN_BINARY);
  if (!existsSync(tool)) return undefined;
  const libraries = join(root, 'usr/lib');
  // If the system has all dependencies, only the binary is unpacked.
  const inside = existsSync(libraries) ? readdirSync(libraries) : [];
  const folders = [libraries, ...inside.map((name) => join(libraries, name))];
  return linkAsServer(tool, cacheDir, { ...process.env, LD_LIBRARY_PATH: folders.join(':') });
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
