import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { unpackDebianPackages } from './debian-package.js';
import { works } from './process.js';

/** How to start a server that reads its settings from standard input. */
export interface RedisCommand {
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  inContainer: boolean;
}

export interface RedisSearch {
  dataDir: string;
  /** Where a fetched server is kept. */
  cacheDir: string;
  /** Told before anything is fetched. */
  say?: (line: string) => void;
}

const SERVERS = ['redis-server', 'valkey-server'];
/** Debian's package of the server would also start a service; the tools hold the same binary under another name. */
const DEBIAN_PACKAGE = 'redis-tools';
const DEBIAN_BINARY = 'redis-check-rdb';
const IMAGE = 'redis:7';

const NOT_TO_BE_HAD =
  'no server is on this machine and none could be fetched. Do one of these and try again:\n' +
  '  - install redis-server or valkey-server with the package manager of this machine\n' +
  '  - set REDIS_URL to a Redis or Valkey of your own';

/** @throws Error with the cures, where none is to be had */
export function findRedis(search: RedisSearch, port: number): RedisCommand {
  const found = onPath(SERVERS) ?? debianTool(search.cacheDir) ?? unpacked(search.cacheDir);
  if (found) return found;
  search.say?.('fetching Redis (once)');
  const fetched =
    installed(search.cacheDir) ?? downloaded(search.cacheDir) ?? container(search.dataDir, port);
  if (!fetched) throw new Error(NOT_TO_BE_HAD);
  return fetched;
}

function onPath(names: string[]): RedisCommand | undefined {
  for (const name of names) {
    const path = pathOf(name);
    if (path !== undefined) return { command: path, args: ['-'], inContainer: false };
  }
  return undefined;
}

function pathOf(name: string): string | undefined {
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
  const tool = pathOf(DEBIAN_BINARY);
  return tool === undefined ? undefined : underItsName(tool, cacheDir);
}

/** The binary is a server when it is called by that name. */
function underItsName(tool: string, cacheDir: string, env?: NodeJS.ProcessEnv): RedisCommand | undefined {
  const command = join(cacheDir, 'redis-server');
  mkdirSync(cacheDir, { recursive: true });
  rmSync(command, { force: true });
  symlinkSync(tool, command);
  const done = spawnSync(command, ['--version'], { encoding: 'utf8', ...(env && { env }) });
  if (done.status !== 0 || !done.stdout.includes('server v=')) return undefined;
  return { command, args: ['-'], inContainer: false, ...(env && { env }) };
}

function installed(cacheDir: string): RedisCommand | undefined {
  if (process.getuid?.() !== 0 || pathOf('apt-get') === undefined) return undefined;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (args: string[]) => spawnSync('apt-get', args, { stdio: 'ignore', env }).status === 0;
  const install = ['install', '-y', '-q', '--no-install-recommends', DEBIAN_PACKAGE];
  // The lists of packages may be missing or old: then the first try fails.
  return apt(install) || (apt(['update', '-q']) && apt(install)) ? debianTool(cacheDir) : undefined;
}

function downloaded(cacheDir: string): RedisCommand | undefined {
  if (pathOf('apt-get') === undefined || !unpackDebianPackages([DEBIAN_PACKAGE], cacheDir)) return undefined;
  return unpacked(cacheDir);
}

function unpacked(cacheDir: string): RedisCommand | undefined {
  const root = join(cacheDir, 'root');
  const tool = join(root, 'usr/bin', DEBIAN_BINARY);
  if (!existsSync(tool)) return undefined;
  const libraries = join(root, 'usr/lib');
  // Where the system has all that it needs, only the binary is unpacked.
  const inside = existsSync(libraries) ? readdirSync(libraries) : [];
  const folders = [libraries, ...inside.map((name) => join(libraries, name))];
  return underItsName(tool, cacheDir, { ...process.env, LD_LIBRARY_PATH: folders.join(':') });
}

function container(dataDir: string, port: number): RedisCommand | undefined {
  if (pathOf('docker') === undefined || !works(['docker', 'pull', '--quiet', IMAGE])) return undefined;
  const name = `gwk-redis-${port}`;
  // One is left over where the client was killed before it could pass the signal on.
  works(['docker', 'rm', '--force', name]);
  const user = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const options = ['--interactive', '--rm', '--name', name, '--user', user, '--volume', `${dataDir}:/data`];
  const publish = ['--publish', `127.0.0.1:${port}:6379`];
  return {
    command: 'docker',
    args: ['run', ...options, ...publish, IMAGE, 'redis-server', '-'],
    inContainer: true,
  };
}
