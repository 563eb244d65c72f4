import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createClient } from 'redis';
import { pickPort } from '../../support/ports.js';
import { until } from '../../support/wait.js';
import { isPortFree, type RunningServer } from '@gwk/local/servers/process';
import { startPostgres, type PostgresOptions } from '@gwk/local/servers/postgres';
import { startRedis, type RedisOptions } from '@gwk/local/servers/redis';

const built = new URL('../../../local/dist/servers/', import.meta.url).href;

let folder: string;
let running: RunningServer[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'servers-'));
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((server) => server.stop()));
  rmSync(folder, { recursive: true, force: true });
});

const postgresOptions = (): PostgresOptions => ({
  dataDir: join(folder, 'postgres'),
  logFile: join(folder, 'postgres.log'),
  password: 'a pass/word',
  database: 'gwk',
});

const redisOptions = (): RedisOptions => ({
  dataDir: join(folder, 'redis'),
  logFile: join(folder, 'redis.log'),
  password: 'word',
});

async function postgres(): Promise<RunningServer> {
  const server = await startPostgres(postgresOptions());
  running.push(server);
  return server;
}

async function redis(): Promise<RunningServer> {
  const server = await startRedis(redisOptions());
  running.push(server);
  return server;
}

async function sql(url: string, text: string): Promise<object[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<object>(text)).rows;
  } finally {
    await client.end();
  }
}

type Client = ReturnType<typeof createClient>;

async function withRedis<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client: Client = createClient({ url, socket: { reconnectStrategy: false } });
  client.on('error', () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    client.destroy();
  }
}

const portOf = (server: RunningServer) => Number(new URL(server.url).port);

/** The IPv4 addresses that a port of this machine listens on, from the kernel's table. */
function listeningOn(port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const listening = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) =>
    readFileSync(table, 'utf8').split('\n'),
  );
  const LISTEN = '0A';
  return listening
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(`:${hex}`) && fields[3] === LISTEN)
    .map((fields) => fields[1]!.split(':')[0]!);
}

describe('Postgres', () => {
  test('keeps its data between runs, asks for the password, listens on loopback only', async () => {
    const first = await postgres();
    await sql(first.url, 'CREATE TABLE kept AS SELECT 42 AS n');
    expect(listeningOn(portOf(first))).toEqual(['0100007F']);
    const wrong = new URL(first.url);
    wrong.password = 'wrong';
    await expect(sql(wrong.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    await first.stop();
    const second = await postgres();
    expect(await sql(second.url, 'SELECT n FROM kept')).toEqual([{ n: 42 }]);
    expect(statSync(join(folder, 'postgres')).mode & 0o77).toBe(0);
  });

  test('syncs to disk by default', async () => {
    const server = await postgres();
    expect(await sql(server.url, 'SHOW fsync')).toEqual([{ fsync: 'on' }]);
    expect(await sql(server.url, 'SHOW synchronous_commit')).toEqual([{ synchronous_commit: 'on' }]);
  });

  test('starts despite a postmaster.pid with the pid of another program', async () => {
    await (await postgres()).stop();
    writeFileSync(
      join(folder, 'postgres/postmaster.pid'),
      `${process.pid}\n${join(folder, 'postgres')}\n1\n5432\n`,
    );
    await expect(postgres()).resolves.toBeDefined();
  });

  const isRoot = process.getuid?.() === 0;
  (isRoot ? test : test.skip)('runs as root without namespaces, and as another user later', async () => {
    const path = process.env['PATH'];
    const forbidden = join(folder, 'unshare');
    writeFileSync(forbidden, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    chmodSync(folder, 0o700);
    try {
      process.env['PATH'] = `${folder}:${path}`;
      const first = await postgres();
      await sql(first.url, 'CREATE TABLE kept AS SELECT 42 AS n');
      expect(statSync(join(folder, 'postgres')).uid).not.toBe(0);
      await first.stop();
    } finally {
      process.env['PATH'] = path;
    }
    const second = await postgres();
    expect(await sql(second.url, 'SELECT n FROM kept')).toEqual([{ n: 42 }]);
  });

  test('reports why it could not start', async () => {
    const other = await postgres();
    const options = { ...postgresOptions(), dataDir: join(folder, 'second'), port: portOf(other) };
    await expect(startPostgres(options)).rejects.toThrow(/exit code 1[^]*Address already in use/);
  });
});

describe('Redis', () => {
  test('keeps its data between runs, asks for the password, listens on loopback only, evicts nothing', async () => {
    const first = await redis();
    expect(listeningOn(portOf(first))).toEqual(['0100007F']);
    await withRedis(first.url, (client) => client.set('kept', '42'));
    const policy = await withRedis(first.url, (client) => client.configGet('maxmemory-policy'));
    expect(policy).toEqual({ 'maxmemory-policy': 'noeviction' });
    const wrong = new URL(first.url);
    wrong.password = 'wrong';
    await expect(withRedis(wrong.href, (client) => client.ping())).rejects.toThrow(/WRONGPASS/);
    await first.stop();
    const second = await redis();
    expect(await withRedis(second.url, (client) => client.get('kept'))).toBe('42');
  });

  test('reports why it could not start', async () => {
    const other = await redis();
    const options = { ...redisOptions(), port: portOf(other) };
    await expect(startRedis(options)).rejects.toThrow(/exit code 1[^]*Address already in use/);
  });

  test('does not show its password in the process list', async () => {
    const { process: server } = await redis();
    expect(readFileSync(`/proc/${server.pid}/cmdline`, 'utf8')).not.toContain('word');
  });
});

describe('when their parent process is killed', () => {
  let parent: ChildProcess | undefined;
  afterEach(() => parent?.kill('SIGKILL'));

  test('both exit, and start again on the same data', async () => {
    const ports = [await pickPort(), await pickPort()];
    const program = `
      const { startPostgres } = await import('${built}postgres.js');
      const { startRedis } = await import('${built}redis.js');
      await startPostgres(${JSON.stringify({ ...postgresOptions(), port: ports[0] })});
      await startRedis(${JSON.stringify({ ...redisOptions(), port: ports[1] })});
      console.log('ready');
      setInterval(() => {}, 1000);`;
    parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise<void>((resolve, reject) => {
      parent!.stdout!.once('data', () => resolve());
      parent!.once('exit', () => reject(new Error('the parent ended')));
    });
    expect(await Promise.all(ports.map(isPortFree))).toEqual([false, false]);
    parent.kill('SIGKILL');
    await until(async () => (await Promise.all(ports.map(isPortFree))).every(Boolean), {
      what: 'both have ended',
    });
    await Promise.all([postgres(), redis()]);
  });
});
