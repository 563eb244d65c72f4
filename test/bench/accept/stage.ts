import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '@gwk/api/database/database';
import { fromPublicId, toPublicId } from '@gwk/core/ids/ids';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { startPostgres } from '@gwk/local/servers/postgres';
import type { RunningServer } from '@gwk/local/servers/process';
import { startRedis } from '@gwk/local/servers/redis';
import pg from 'pg';
import { createClient } from 'redis';
import { query } from '../../support/servers/database.js';
import {
  apiEnvironment,
  commandEnvironment,
  type GatewaySettings,
} from '../../support/gateway/gateway-settings.js';
import { runGwk, runGwkJson } from '../../support/gateway/gwk-command.js';
import { pickPort } from '../../support/ports.js';
import { baseEnvironment, GWK, Program, type Environment } from '../../support/program.js';
import { PRODUCTION } from '../shared/production.js';
import { noteVersions } from '../shared/heading.js';
import { makeInstances } from '../shared/instances.js';
import { benchSettings } from '../shared/settings.js';
import type { FloorOptions } from './floor.js';

/** Postgres and Redis with production settings, the floor, and a `gwk api` with an account ready to send. */
export interface StageOptions {
  instances: number;
  /** Runs Postgres without waiting for its disk, to measure the CPU limit alone. */
  withoutSync: boolean;
  /** Arguments of Node for both servers (`--cpu-prof`). */
  nodeArguments: string[];
}

export interface Subject {
  name: 'floor' | 'gwk';
  port: number;
  program: Program;
}

export interface Stage {
  subjects: [floor: Subject, gwk: Subject];
  apiKeys: string[];
  /** Public ids. */
  instances: string[];
  databaseUrl: string;
  /** Database of the floor. */
  floorUrl: string;
  postgres: RunningServer;
  redis: RunningServer;
  /** Stops the floor, before gwk is measured alone. */
  endFloor(): Promise<void>;
  stop(): Promise<void>;
}

const ACCOUNT = 'bench';
/** High limits. Every check stays on. */
const POLICY = {
  new_contacts_per_day: 100_000,
  mass_block: { max_contacts: 10_000, window_minutes: 60 },
  active_hours: { start: '00:00', end: '00:00', timezone: 'America/Sao_Paulo', outside: 'reject' },
};
const REQUESTS_PER_MINUTE = 10_000_000;
/** Number of WAL files, 16 MB each: more than all rounds write (1.9 GB at 10,000 messages/s). */
const WAL_FILES = 192;
const FLOOR = fileURLToPath(new URL('./floor.js', import.meta.url));

export async function setStage(options: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-bench-'));
  const opened: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const close of opened.reverse()) await close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const postgres = await startPostgres({
      dataDir: join(folder, 'postgres'),
      logFile: join(folder, 'postgres.log'),
      password: 'bench',
      database: 'gwk',
      withoutSync: options.withoutSync,
    });
    opened.push(() => postgres.stop());
    await makeWalFiles(postgres.url);
    const redis = await startRedis({
      dataDir: join(folder, 'redis'),
      logFile: join(folder, 'redis.log'),
      password: 'bench',
    });
    opened.push(() => redis.stop());
    await noteVersions(postgres.url, redis.url);
    const settings = await benchSettings({ folder, postgres, redis });
    const account = await makeAccount(settings, options.instances);
    const floor = await startFloor(folder, settings, options.nodeArguments);
    opened.push(() => floor.program.stop());
    const gwk = await startApi(folder, settings, options.nodeArguments);
    opened.push(() => gwk.program.stop());
    const endFloor = () => removeFloor(floor, settings);
    return {
      subjects: [floor, gwk],
      ...account,
      databaseUrl: settings.databaseUrl,
      floorUrl: floorDatabase(settings),
      postgres,
      redis,
      endFloor,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Creates WAL files in advance. A Postgres that has run for some minutes reuses files. A new one zeroes 16 MB during a
 * commit every few seconds, which took 60 to 80 ms here.
 */
async function makeWalFiles(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`ALTER SYSTEM SET min_wal_size = '${WAL_FILES * 16}MB'`);
  await client.query(`ALTER SYSTEM SET max_wal_size = '${WAL_FILES * 32}MB'`);
  await client.query('SELECT pg_reload_conf()');
  for (let file = 0; file < WAL_FILES; file++) {
    await client.query(`SELECT pg_logical_emit_message(false, 'bench', 'next')`);
    await client.query('SELECT pg_switch_wal()');
  }
  await client.query('CHECKPOINT');
  await client.end();
}

async function makeAccount(
  settings: GatewaySettings,
  count: number,
): Promise<Pick<Stage, 'apiKeys' | 'instances'>> {
  const env = commandEnvironment(settings);
  await runGwk(['migrate'], env);
  const account = await runGwkJson<{ id: string }>(
    [
      'account',
      'create',
      ACCOUNT,
      '--requests-per-minute',
      String(REQUESTS_PER_MINUTE),
      '--max-instances',
      '1000',
    ],
    env,
  );
  await runGwk(['policy', 'set', '--account', ACCOUNT, '--json', JSON.stringify(POLICY)], env);
  const apiKeys: string[] = [];
  for (const name of ['one', 'two']) {
    const args = ['key', 'create', '--account', ACCOUNT, '--scopes', 'messages:send', '--name', name];
    apiKeys.push((await runGwkJson<{ api_key: string }>(args, env)).api_key);
  }
  const sealer = new Sealer(parseEncryptionKeys(settings.encryptionKeys));
  const database = openDatabase({ url: settings.databaseUrl, poolSize: 2, program: 'bench' });
  const accountId = fromPublicId('account', account.id)!;
  const ids = await makeInstances(database, sealer, { accountId, count });
  await database.$disconnect();
  return { apiKeys, instances: ids.map((id) => toPublicId('instance', id)) };
}

async function startFloor(folder: string, settings: GatewaySettings, node: string[]): Promise<Subject> {
  await query(settings.databaseUrl, 'CREATE DATABASE floor');
  const stores = { databaseUrl: floorDatabase(settings), redisUrl: settings.redisUrl };
  return startAcceptFloor(folder, stores, node);
}

/** @param node arguments of Node */
export async function startAcceptFloor(
  folder: string,
  stores: Omit<FloorOptions, 'port'>,
  node: string[] = [],
): Promise<Subject> {
  const options: FloorOptions = { port: await pickPort(), ...stores };
  const args = [...node, FLOOR, JSON.stringify(options)];
  return start('floor', options.port, { folder, args, env: baseEnvironment() });
}

function floorDatabase(settings: GatewaySettings): string {
  const url = new URL(settings.databaseUrl);
  url.pathname = '/floor';
  return url.href;
}

/**
 * Removes the floor, because its leftovers would slow gwk down: up to 80 MB of dirty pages, table statistics, 16
 * connections that end 10 s later at the same time (100 ms of both CPUs), and streams that Redis rewrites whenever its
 * log doubles. gwk's own leftovers stay.
 */
async function removeFloor({ program }: Subject, settings: GatewaySettings): Promise<void> {
  await program.stop();
  await query(floorDatabase(settings), 'TRUNCATE messages, idempotency');
  const redis = createClient({ url: settings.redisUrl });
  await redis.connect();
  for await (const keys of redis.scanIterator({ MATCH: 'floor:*' })) {
    if (keys.length > 0) await redis.unlink(keys);
  }
  redis.destroy();
}

async function startApi(folder: string, settings: GatewaySettings, node: string[]): Promise<Subject> {
  const port = await pickPort();
  const env = apiEnvironment(settings, { port, internalPort: await pickPort() });
  return start('gwk', port, { folder, args: [...node, GWK, 'api'], env });
}

async function start(
  name: Subject['name'],
  port: number,
  launch: { folder: string; args: string[]; env: Environment },
): Promise<Subject> {
  const program = new Program({
    name,
    args: launch.args,
    env: { ...launch.env, ...PRODUCTION },
    logFile: join(launch.folder, `${name}.log`),
    ready: () => accepts(port),
    supervised: false,
  });
  await program.start();
  return { name, port, program };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
