import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CliError } from '../errors.js';
import type { Access } from '../gateway/client.js';

type Environment = Readonly<Record<string, string | undefined>>;

interface Stored {
  url: string;
  key: string;
}

/** The stored gateways of a person. */
export interface ProfileFile {
  current: string;
  profiles: Record<string, Stored>;
}

const EMPTY: ProfileFile = { current: 'default', profiles: {} };

/** The system's folder for settings of a person. */
export function findProfilePath(platform: string, env: Environment, home: string): string {
  if (platform === 'win32') return join(env['APPDATA'] ?? join(home, 'AppData/Roaming'), 'gwk/profiles.json');
  if (env['XDG_CONFIG_HOME']) return join(env['XDG_CONFIG_HOME'], 'gwk/profiles.json');
  if (platform === 'darwin') return join(home, 'Library/Application Support/gwk/profiles.json');
  return join(home, '.config/gwk/profiles.json');
}

/** A name can be that of a property of all objects, such as `constructor`. */
export const findProfile = ({ profiles }: ProfileFile, name: string): Stored | undefined =>
  Object.hasOwn(profiles, name) ? profiles[name] : undefined;

/** The gateway that a command uses: a named profile, else the environment, else the current profile. @throws CliError */
export function chooseAccess(file: ProfileFile, env: Environment, named: string | undefined): Access {
  const stored = findProfile(file, named ?? file.current);
  if (named === undefined) return readAccess(stored, env);
  if (stored) return stored;
  throw new CliError('usage', `There is no profile "${named}". List them with: gwk profiles`);
}

function readAccess(stored: Stored | undefined, env: Environment): Access {
  const given = env['GWK_API_KEY'] || undefined;
  if (given !== undefined && !env['GWK_URL'])
    throw new CliError('usage', 'GWK_API_KEY needs GWK_URL, so that the key goes to no other gateway');
  const url = env['GWK_URL'] ? parseAddress(env['GWK_URL']) : stored?.url;
  if (url === undefined)
    throw new CliError('auth', 'No gateway is known. Run gwk login, or set GWK_URL and GWK_API_KEY');
  // A stored key goes to its own gateway alone.
  const key = given ?? (url === stored?.url ? stored.key : undefined);
  return { url, key: key ?? null };
}

/** @throws CliError */
export function parseAddress(text: string): string {
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.search !== '')
    throw new CliError('usage', `"${text}" is not an address like https://gwk.example.org`);
  return (url.origin + url.pathname).replace(/\/$/, '');
}

/** Whether others on the way can read the key. */
export function isExposed(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

/** The beginning of a key. It distinguishes keys and grants nothing. */
export const hideKey = (key: string): string => `${key.slice(0, 13)}...`;

export function addProfile(file: ProfileFile, name: string, profile: Stored): ProfileFile {
  return { current: name, profiles: { ...file.profiles, [name]: profile } };
}

export function removeProfile(file: ProfileFile, name: string): ProfileFile {
  const profiles = Object.fromEntries(Object.entries(file.profiles).filter(([other]) => other !== name));
  return {
    current: name === file.current ? (Object.keys(profiles)[0] ?? 'default') : file.current,
    profiles,
  };
}

const ownPath = (): string => findProfilePath(process.platform, process.env, homedir());

/** @throws CliError */
export function readProfiles(path = ownPath()): ProfileFile {
  try {
    return { ...EMPTY, ...(JSON.parse(readFileSync(path, 'utf8')) as Partial<ProfileFile>) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return EMPTY;
    throw new CliError('usage', `${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Replaces the file as a whole. Nobody else may read it. */
export function writeProfiles(file: ProfileFile, path = ownPath()): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = `${path}.${process.pid}`;
  rmSync(fresh, { force: true });
  writeFileSync(fresh, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(fresh, path);
  return path;
}
