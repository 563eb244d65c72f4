import { formatPostgresUrl } from '../servers/postgres.js';
import type { Secrets } from './secrets.js';
import { selectSettings, type Environment, type LocalConfig, type ProgramName } from './settings.js';

/** Address of a simulated network, and the certificates that engines must trust. */
export interface NetworkAddress {
  url: string;
  root: string;
  /** File with the certificate of its media hosts. */
  media_ca: string;
  /** Script of its web client, which states the served client version. */
  web_client: string;
}

/** Addresses and secrets that commands need. */
export interface CommandWiring {
  config: LocalConfig;
  secrets: Secrets;
  databaseUrl: string;
}

export interface Wiring extends CommandWiring {
  redisUrl: string;
  /** Folder of the operator's files. */
  folder: string;
  /** Folder of uploaded and received files. */
  media: string;
  /** A simulated network that replaces the real one. */
  network?: NetworkAddress;
}

export const DATABASE = 'gwk';

/** Returns the addresses of a gateway that runs already. */
export function wire(config: LocalConfig, secrets: Secrets): CommandWiring {
  const own = { password: secrets.postgresPassword, port: config.postgresPort, database: DATABASE };
  return { config, secrets, databaseUrl: config.databaseUrl ?? formatPostgresUrl(own) };
}

const HOST = '127.0.0.1';
/** Environment variables that every program needs. Engines see no other variables of the user. */
const COMMON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ', 'NODE_EXTRA_CA_CERTS'];

export const baseUrl = (config: LocalConfig) => `http://${HOST}:${config.apiPort}`;

/** Environment of a program. The user cannot override the settings that connect the programs. */
export function programEnvironment(name: ProgramName, wiring: Wiring, user: NodeJS.ProcessEnv): Environment {
  const fixed = { api: apiSettings, worker: workerSettings, operator: operatorSettings }[name](wiring);
  return { ...common(user), ...selectSettings(name, user), GWK_EXIT_WITH_PARENT: 'on', ...fixed };
}

/** Environment of `gwk` commands that use the database. */
export function commandEnvironment(wiring: CommandWiring, user: NodeJS.ProcessEnv): Environment {
  return {
    ...common(user),
    DATABASE_URL: wiring.databaseUrl,
    GWK_ENCRYPTION_KEYS: wiring.secrets.encryptionKey,
    GWK_API_BASE_URL: baseUrl(wiring.config),
  };
}

/** Environment of `gwk network start`. */
export function networkEnvironment(user: NodeJS.ProcessEnv): Environment {
  return { ...common(user), GWK_EXIT_WITH_PARENT: 'on' };
}

function common(user: NodeJS.ProcessEnv): Environment {
  const given = COMMON.flatMap((name) => (user[name] === undefined ? [] : [[name, user[name]]]));
  return { ...(Object.fromEntries(given) as Environment), NODE_ENV: 'production' };
}

const stores = ({ config, databaseUrl, redisUrl, secrets, media }: Wiring): Environment => ({
  GWK_MEDIA_FOLDER: media,
  GWK_MEDIA_URL: baseUrl(config),
  DATABASE_URL: databaseUrl,
  REDIS_URL: redisUrl,
  GWK_ENCRYPTION_KEYS: secrets.encryptionKey,
});

const apiSettings = (wiring: Wiring): Environment => ({
  ...stores(wiring),
  GWK_OPERATOR_TOKEN: wiring.secrets.operatorToken,
  GWK_API_HOST: HOST,
  GWK_API_PORT: String(wiring.config.apiPort),
  GWK_API_METRICS_PORT: '0',
  GWK_API_INTERNAL_HOST: HOST,
  GWK_API_INTERNAL_PORT: String(wiring.config.internalPort),
  GWK_API_BASE_URL: baseUrl(wiring.config),
  GWK_API_OPERATOR_URL: `http://${HOST}:${wiring.config.operatorPort}`,
  GWK_API_CLUSTER_TOKEN: wiring.secrets.clusterToken,
  GWK_API_LOOPBACK_WEBHOOKS: 'on',
});

const workerSettings = (wiring: Wiring): Environment => ({
  ...stores(wiring),
  GWK_WORKER_HOST: HOST,
  GWK_WORKER_PORT: String(wiring.config.workerPort),
  GWK_WORKER_CONSOLE_URL: baseUrl(wiring.config),
  GWK_WORKER_LOOPBACK_WEBHOOKS: 'on',
  ...(wiring.network && { GWK_WORKER_CLIENT_VERSION_URL: wiring.network.web_client }),
});

const operatorSettings = (wiring: Wiring): Environment => ({
  GWK_OPERATOR_TOKEN: wiring.secrets.operatorToken,
  GWK_OPERATOR_INTERNAL_URL: `http://${HOST}:${wiring.config.internalPort}`,
  GWK_OPERATOR_HOST: HOST,
  GWK_OPERATOR_PORT: String(wiring.config.operatorPort),
  GWK_OPERATOR_CLUSTER: 'local',
  GWK_OPERATOR_LOCAL_FOLDER: wiring.folder,
  GWK_OPERATOR_LOCAL_TOKEN: wiring.secrets.clusterToken,
  ...(wiring.network && {
    GWK_OPERATOR_NETWORK_URL: wiring.network.url,
    GWK_OPERATOR_NETWORK_ROOT: wiring.network.root,
    GWK_OPERATOR_NETWORK_CA_FILE: wiring.network.media_ca,
  }),
});
