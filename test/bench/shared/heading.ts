import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { cpus, loadavg, totalmem } from 'node:os';
import pg from 'pg';
import { createClient } from 'redis';
import { ROOT } from '../../support/program.js';

/** Versions of the measured programs. Those of the servers are added after their start. */
const versions = [`Node ${process.version}`];

/** Must run before the measurement, because the tree may change before the table is printed. */
export async function noteVersions(databaseUrl: string, redisUrl: string): Promise<void> {
  const commit = commitOf(ROOT);
  versions.splice(
    1,
    Infinity,
    `PostgreSQL ${await postgresVersion(databaseUrl)}`,
    `Redis ${await redisVersion(redisUrl)}`,
    `Baileys ${baileysVersion()}`,
    ...(commit === undefined ? [] : [`commit ${commit}`]),
  );
}

/** Date, machine, load and versions, which make results comparable. */
export function heading(): string {
  const model = cpus()[0]?.model.trim() ?? 'processor';
  const day = new Date().toISOString().slice(0, 10);
  const memory = (totalmem() / 1e9).toFixed(1);
  const load = loadavg()[0]!.toFixed(1);
  return `${day}, ${cpus().length} x ${model}, ${memory} GB, load average ${load}\n${versions.join(', ')}`;
}

async function postgresVersion(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
  await client.end();
  return rows[0]!.server_version;
}

async function redisVersion(url: string): Promise<string> {
  const client = await createClient({ url }).connect();
  const version = /redis_version:(\S+)/.exec(await client.info('server'))?.[1];
  client.destroy();
  return version ?? 'unknown version';
}

function baileysVersion(): string {
  const require = createRequire(import.meta.url);
  return (require('@whiskeysockets/baileys/package.json') as { version: string }).version;
}

/** Short commit hash, with a plus if the tree has changes; undefined without git. */
function commitOf(folder: string): string | undefined {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') === '' ? '' : '+');
  } catch {
    return undefined;
  }
}
