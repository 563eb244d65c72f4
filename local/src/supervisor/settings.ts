import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig, setting, types, type ConfigOf } from '@gwk/core/config/load';
import * as shared from '@gwk/core/config/shared';

/** The root of the source tree; the same from src/ and from dist/. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
export const GWK = join(ROOT, 'bin/gwk.js');
/** Where a fetched Redis is kept: it outlives make reset. */
export const REDIS_CACHE = join(ROOT, 'node_modules/.cache/redis');

const port = (env: string, value: number, doc: string) =>
  setting(env, types.integer(1, 65535).default(value), doc);

/** Settings of `gwk local up` (`make run`). */
export const localSettings = {
  folder: setting(
    'GWK_LOCAL_FOLDER',
    types.text().default(join(ROOT, '.local')),
    'Folder that holds everything it keeps.',
  ),
  apiPort: port('GWK_LOCAL_API_PORT', 8080, 'Port of the API.'),
  internalPort: port('GWK_LOCAL_INTERNAL_PORT', 8081, "Port of the API's internal listener."),
  workerPort: port('GWK_LOCAL_WORKER_PORT', 8082, "Port of the worker's health and metrics."),
  operatorPort: port(
    'GWK_LOCAL_OPERATOR_PORT',
    8083,
    'Port of the operator: Instance resources, health, metrics.',
  ),
  postgresPort: port('GWK_LOCAL_POSTGRES_PORT', 15432, 'Port of the Postgres that it starts.'),
  redisPort: port('GWK_LOCAL_REDIS_PORT', 16379, 'Port of the Redis that it starts.'),
  databaseUrl: {
    ...shared.databaseUrl,
    kind: shared.databaseUrl.kind.optional(),
    doc: 'Address of a Postgres to use in place of one of its own.',
  },
  redisUrl: {
    ...shared.redisUrl,
    kind: shared.redisUrl.kind.optional(),
    doc: 'Address of a Redis to use in place of one of its own.',
  },
};

export type LocalConfig = ConfigOf<typeof localSettings>;
type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of the programs themselves: given to them as they are, and checked by them. */
const PASSED_ON = {
  api: ['GWK_API_', 'GWK_LOG_LEVEL', 'GWK_FAILPOINT_DIR'],
  worker: ['GWK_WORKER_', 'GWK_LOG_LEVEL', 'GWK_FAILPOINT_DIR'],
  operator: ['GWK_OPERATOR_', 'GWK_LOG_LEVEL', 'GWK_FAILPOINT_DIR'],
};
export type ProgramName = keyof typeof PASSED_ON;

/** @throws ConfigError that names every fault at once */
export function loadLocalConfig(env: Environment): LocalConfig {
  const prefixes = Object.values(PASSED_ON).flat();
  const own = Object.entries(env).filter(([name]) => !prefixes.some((prefix) => name.startsWith(prefix)));
  return loadConfig(localSettings, Object.fromEntries(own));
}

export function passedOn(program: ProgramName, env: Environment): Record<string, string> {
  const given = Object.entries(env).filter(([name]) =>
    PASSED_ON[program].some((prefix) => name.startsWith(prefix)),
  );
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
