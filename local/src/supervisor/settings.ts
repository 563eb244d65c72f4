import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig, type ConfigOf } from '@gwk/core/config/load';
import { localSettings } from '@gwk/core/config/local';

/** Root of the source tree, from src/ and from dist/. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
export const GWK = join(ROOT, 'bin/gwk.js');

export type LocalConfig = ConfigOf<typeof localSettings>;
/** Environment variables given to a program. */
export type Environment = Record<string, string>;
/** Environment variables of the user's shell. */
type UserEnvironment = Readonly<Record<string, string | undefined>>;

/** Prefixes of settings that are passed to the programs, which validate them. */
const PASSED_PREFIXES = {
  api: ['GWK_API_', 'GWK_MEDIA_', 'GWK_LOG_LEVEL', 'GWK_FAILPOINT_DIR', 'OTEL_'],
  worker: ['GWK_WORKER_', 'GWK_MEDIA_', 'GWK_LOG_LEVEL', 'GWK_FAILPOINT_DIR', 'OTEL_', 'PROMETHEUS_URL'],
  // The operator has no traces of its own. It passes the settings to its engines.
  operator: ['GWK_OPERATOR_', 'GWK_LOG_LEVEL', 'GWK_FAILPOINT_DIR', 'OTEL_'],
};
export type ProgramName = keyof typeof PASSED_PREFIXES;

/** @throws ConfigError that names every invalid setting */
export function loadLocalConfig(env: UserEnvironment): LocalConfig {
  const prefixes = Object.values(PASSED_PREFIXES).flat();
  const own = Object.entries(env).filter(([name]) => !prefixes.some((prefix) => name.startsWith(prefix)));
  const config = loadConfig(localSettings, Object.fromEntries(own));
  return { ...config, folder: resolve(ROOT, config.folder) };
}

export function selectSettings(program: ProgramName, env: UserEnvironment): Environment {
  const given = Object.entries(env).filter(([name]) =>
    PASSED_PREFIXES[program].some((prefix) => name.startsWith(prefix)),
  );
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
