import { unpackDebianPackages } from '../debian-package.js';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/**
 * A Postgres with the client programs of its version, which the embedded one lacks: of the machine, or from Debian
 * packages, unpacked once into the user's cache.
 */
export interface WholePostgres {
  folder: string;
  initdb: string;
  postgres: string;
  /** Environment of these programs. */
  env: NodeJS.ProcessEnv;
}

const PACKAGES = ['postgresql', 'postgresql-client'];
const PROGRAMS = ['initdb', 'postgres', 'pg_dump', 'pg_restore', 'createdb', 'psql'];
const MISSING =
  'Postgres with pg_dump of its version is neither installed nor available from the package manager: ' +
  'put initdb, postgres, pg_dump, pg_restore, createdb and psql of one version into a folder in PATH';

export interface Places {
  path: string;
  /** Debian's folder of servers: one subfolder per version, none of them in PATH. */
  system: string;
  /** Folder for unpacked packages. */
  cache: string;
  /** Unpacks the packages. Returns false if it cannot. */
  fetch: (cache: string) => boolean;
}

const PLACES: Places = {
  path: process.env['PATH'] ?? '',
  system: '/usr/lib/postgresql',
  cache: join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gwk/postgres'),
  fetch: (cache) => unpackDebianPackages(PACKAGES, cache, { versioned: true }),
};

/** @returns the reason if it is not available */
export function findPostgres({ path, system, cache, fetch }: Places): WholePostgres | string {
  const there = () =>
    inFolders([...path.split(delimiter).filter(Boolean), ...binariesIn(system)], process.env) ??
    unpacked(cache);
  return there() ?? (fetch(cache) ? there() : undefined) ?? MISSING;
}

let found: WholePostgres | string | undefined;

/** Cached, also if not found. */
const wholePostgres = (): WholePostgres | string => (found ??= findPostgres(PLACES));

const within = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];

const binariesIn = (versions: string): string[] => within(versions).map((folder) => join(folder, 'bin'));

/** Libraries that the system lacks are beside the programs. */
function unpacked(cache: string): WholePostgres | undefined {
  const usr = join(cache, 'root/usr/lib');
  const libraries = [usr, join(cache, 'root/lib')].flatMap(within).filter((path) => path.includes('-linux-'));
  const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(delimiter) };
  return inFolders(binariesIn(join(usr, 'postgresql')), env);
}

function inFolders(folders: string[], env: NodeJS.ProcessEnv): WholePostgres | undefined {
  for (const folder of folders) {
    const [initdb, postgres, ...clients] = PROGRAMS.map((name) => join(folder, name));
    const versions = [initdb!, postgres!, ...clients].map((file) => versionOf(file, env));
    if (versions[0] === undefined || new Set(versions).size > 1) continue;
    const path = [folder, process.env['PATH'] ?? ''].join(delimiter);
    return { folder, initdb: initdb!, postgres: postgres!, env: { ...env, PATH: path } };
  }
  return undefined;
}

function versionOf(file: string, env: NodeJS.ProcessEnv): string | undefined {
  if (!existsSync(file)) return undefined;
  const { status, stdout } = spawnSync(file, ['--version'], { encoding: 'utf8', env });
  return status === 0 ? /\(PostgreSQL\) (\S+)/.exec(stdout)?.[1] : undefined;
}

/**
 * Tests with such a Postgres. Without it they are counted as skipped, with the reason in their name. With CI=true they
 * fail.
 */
export function describeWithWholePostgres(title: string, tests: () => void): void {
  const programs = wholePostgres();
  if (typeof programs !== 'string' || process.env['CI'] === 'true') return describe(title, tests);
  describe.skip(`${title} (${programs})`, tests);
}

/** @throws Error if it is not available */
export function neededPostgres(): WholePostgres {
  const programs = wholePostgres();
  if (typeof programs === 'string') throw new Error(programs);
  return programs;
}
