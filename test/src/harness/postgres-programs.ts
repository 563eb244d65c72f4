import { describe } from '@jest/globals';
import { unpackDebianPackages } from '@gwk/local/servers/debian-package';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/**
 * A Postgres with the client programs of its own version, which the embedded one comes without: of the machine, or the
 * packages of Debian, fetched once into the user's cache.
 */
export interface WholePostgres {
  folder: string;
  initdb: string;
  postgres: string;
  /** For these programs. */
  env: NodeJS.ProcessEnv;
}

const PACKAGES = ['postgresql', 'postgresql-client'];
const PROGRAMS = ['initdb', 'postgres', 'pg_dump', 'pg_restore', 'createdb', 'psql'];
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gwk/postgres');
const MISSING =
  'Postgres with pg_dump of its version is neither installed nor to be had from the package manager: ' +
  'have initdb, postgres, pg_dump, pg_restore, createdb and psql of one version in a folder of PATH';

let found: WholePostgres | undefined;

/** @returns why not, where it is not to be had */
export function wholePostgres(): WholePostgres | string {
  found ??= installed() ?? unpacked();
  if (!found && unpackDebianPackages(PACKAGES, CACHE, { versioned: true })) found = unpacked();
  return found ?? MISSING;
}

function installed(): WholePostgres | undefined {
  return inFolders((process.env['PATH'] ?? '').split(delimiter).filter(Boolean), process.env);
}

/** What the system lacks lies beside them. */
function unpacked(): WholePostgres | undefined {
  const usr = join(CACHE, 'root/usr/lib');
  const within = (folder: string): string[] =>
    existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  const versions = within(join(usr, 'postgresql')).map((folder) => join(folder, 'bin'));
  const libraries = [usr, join(CACHE, 'root/lib')].flatMap(within).filter((path) => path.includes('-linux-'));
  return inFolders(versions, { ...process.env, LD_LIBRARY_PATH: libraries.join(delimiter) });
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
 * Tests with such a Postgres. Where it is not to be had they are skipped, and counted as skipped, with the reason as a
 * name; on CI (CI=true) they fail.
 */
export function describeWithWholePostgres(title: string, tests: () => void): void {
  const programs = wholePostgres();
  if (typeof programs !== 'string' || process.env['CI'] === 'true') return describe(title, tests);
  describe.skip(`${title} (${programs})`, tests);
}

/** @throws Error where it is not to be had */
export function neededPostgres(): WholePostgres {
  const programs = wholePostgres();
  if (typeof programs === 'string') throw new Error(programs);
  return programs;
}
