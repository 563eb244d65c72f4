import { readFileSync } from 'node:fs';
import type { Kind } from './kinds.js';

export { types } from './kinds.js';

/**
 * Settings are environment variables. A program declares each setting once, with type, default and description.
 * docs/configuration.md is generated from the declarations.
 *
 * `NAME_FILE=/path` instead of `NAME=value` reads the value from a file, for example a Kubernetes secret.
 * At an invalid, missing or unknown GWK_ variable the program lists all faults and exits.
 */
export interface Setting<T = unknown> {
  env: string;
  kind: Kind<T>;
  doc: string;
  /** Not printed in errors. */
  secret: boolean;
  /** The value is a function, because its file may be rewritten while the program runs. */
  rotates?: boolean;
}

export type Settings = Record<string, Setting>;
export type ConfigOf<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

export function setting<T>(env: string, kind: Kind<T>, doc: string): Setting<T> {
  return { env, kind, doc, secret: false };
}

export function secretSetting<T>(env: string, kind: Kind<T>, doc: string): Setting<T> {
  return { env, kind, doc, secret: true };
}

/** A secret or certificate whose file may be rewritten while the program runs, as Kubernetes does with tokens. */
export function rotatingSetting<T extends string | undefined>(
  env: string,
  kind: Kind<T>,
  doc: string,
): Setting<() => T> {
  // The parsed value is text; loadConfig turns it into a function.
  return { env, kind: kind as Kind<unknown> as Kind<() => T>, doc, secret: true, rotates: true };
}

export class ConfigError extends Error {
  override name = 'ConfigError';
  constructor(readonly faults: readonly string[]) {
    super(`invalid settings:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that any program may find in its environment: of tests, and the actor of administration commands. */
const KNOWN_EVERYWHERE = new Set(['GWK_FAILPOINT_DIR', 'GWK_ACTOR']);

/** @throws ConfigError that lists all faults */
export function loadConfig<S extends Settings>(settings: S, env: Environment): ConfigOf<S> {
  const faults: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [key, { env: name, kind, secret, rotates }] of Object.entries(settings)) {
    const given = readValue(name, env, faults);
    const reading = kind.read(given);
    if (reading.ok)
      config[key] = rotates
        ? rotating(env[`${name}_FILE`], reading.value as string | undefined)
        : reading.value;
    else if (given === undefined) faults.push(`${name} is not set`);
    else faults.push(`${name}=${secret ? '(hidden)' : JSON.stringify(given)}: ${reading.fault}`);
  }
  faults.push(...unknownVariables(settings, env));
  if (faults.length > 0) throw new ConfigError(faults);
  return config as ConfigOf<S>;
}

/** Ends the process if a setting of the program is wrong. */
export function loadConfigOrExit<S extends Settings>(
  program: string,
  settings: S,
  env: Environment,
  exitCode: number,
): ConfigOf<S> {
  try {
    return loadConfig(settings, env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`gwk ${program}: ${error.message}\n`);
    process.exit(exitCode);
  }
}

/** For commands: a shell may contain settings of programs, which `loadConfig` would refuse. @throws ConfigError */
export function loadCommandConfig<S extends Settings>(settings: S, env: Environment): ConfigOf<S> {
  const names = Object.values(settings).flatMap((item) => [item.env, `${item.env}_FILE`]);
  return loadConfig(settings, Object.fromEntries(names.map((name) => [name, env[name]])));
}

function readValue(name: string, env: Environment, faults: string[]): string | undefined {
  const file = env[`${name}_FILE`];
  const value = env[name];
  // Empty means "not set": `NAME= command` and many manifests produce empty variables.
  if (file === undefined || file === '') return value === '' ? undefined : value;
  if (value !== undefined && value !== '') faults.push(`${name} and ${name}_FILE are both set; keep one`);
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    faults.push(
      `${name}_FILE: cannot read ${file}: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`,
    );
    return undefined;
  }
}

const FRESH_MS = 10_000;

/** While the file is unreadable or empty it is probably being rewritten: keeps the previous value. */
function rotating(file: string | undefined, first: string | undefined): () => string | undefined {
  if (file === undefined || file === '') return () => first;
  let value = first;
  let readAt = performance.now();
  return () => {
    if (performance.now() - readAt < FRESH_MS) return value;
    readAt = performance.now();
    try {
      value = readFileSync(file, 'utf8').trim() || value;
    } catch {
      // The next call after FRESH_MS tries again.
    }
    return value;
  };
}

function unknownVariables(settings: Settings, env: Environment): string[] {
  const known = Object.values(settings).map((item) => item.env);
  const names = new Set([...known, ...known.map((name) => `${name}_FILE`), ...KNOWN_EVERYWHERE]);
  return Object.keys(env)
    .filter((name) => name.startsWith('GWK_') && !names.has(name))
    .map((name) => `${name} is not a setting of this program${hint(name, known)}`);
}

function hint(name: string, known: string[]): string {
  const near = known
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return near && near.distance <= 4 ? `; did you mean ${near.candidate}?` : '';
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
