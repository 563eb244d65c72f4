import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '@gwk/local/servers/process';
import { makeDebianBase } from '../images/debian.js';
import { pickPort } from '../ports.js';
import { realTime } from '../wait.js';
import { query } from './database.js';

/** Settings of PgBouncer by name. The others keep their defaults. */
export type PgBouncerSettings = Record<string, string>;

export interface PgBouncer {
  /** The same database and user, through the pooler. */
  url: string;
  stop(): Promise<void>;
}

/** Without apt, which downloads PgBouncer, its tests are counted as skipped; with CI=true they fail. */
export const hasPgBouncer = process.env['CI'] === 'true' || spawnSync('apt-get', ['--version']).status === 0;

/** PgBouncer and its libraries come from Debian packages, unpacked once into the user's cache. */
export async function startPgBouncer(postgresUrl: string, settings: PgBouncerSettings): Promise<PgBouncer> {
  const usr = join(makeDebianBase('13', ['pgbouncer']), 'usr');
  const folder = mkdtempSync(join(tmpdir(), 'gwk-pgbouncer-'));
  const url = new URL(postgresUrl);
  const { port: postgresPort, username, password } = url;
  url.port = String(await pickPort());
  writeFileSync(join(folder, 'users.txt'), `"${username}" "${decodeURIComponent(password)}"\n`);
  const all: PgBouncerSettings = {
    listen_addr: '127.0.0.1',
    listen_port: url.port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: join(folder, 'users.txt'),
    // PgBouncer refuses to run as root.
    ...(process.getuid?.() === 0 && { user: 'nobody' }),
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  const databases = `[databases]\n* = host=127.0.0.1 port=${postgresPort}\n`;
  writeFileSync(join(folder, 'pgbouncer.ini'), `${databases}[pgbouncer]\n${lines.join('\n')}\n`);
  chmodSync(folder, 0o755);
  const library = join(usr, 'lib/x86_64-linux-gnu');
  const server = await start({
    command: join(usr, 'lib64/ld-linux-x86-64.so.2'),
    args: ['--library-path', library, join(usr, 'sbin/pgbouncer'), join(folder, 'pgbouncer.ini')],
    parentDeathSignal: 'TERM',
    logFile: join(folder, 'pgbouncer.log'),
    ready: async () => void (await query(url.href, 'SELECT 1')),
    limitMs: realTime(60_000),
    // Closes all connections at once.
    stopSignal: 'SIGTERM',
    graceMs: realTime(10_000),
  });
  return {
    url: url.href,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
