import { randomBytes } from 'node:crypto';
import { pickPort } from '../ports.js';
import { baseEnvironment, type Environment } from '../program.js';

/** Settings that all programs of a gateway share. */
export interface GatewaySettings {
  databaseUrl: string;
  redisUrl: string;
  redisPrefix: string;
  encryptionKeys: string;
  operatorToken: string;
  localToken: string;
  operatorPort: number;
  localFolder: string;
  /** Environment variable of every process of this gateway, to find processes left behind. */
  mark: string;
  failpointFolder: string;
  networkUrl: string;
  mediaFolder: string;
  /** Public address of the first API process. */
  mediaUrl: string;
}

export interface ApiPorts {
  port: number;
  internalPort: number;
}

export const MARK_VARIABLE = 'TEST_GATEWAY';
const HOST = '127.0.0.1';

export function newSecrets(): Pick<
  GatewaySettings,
  'encryptionKeys' | 'operatorToken' | 'localToken' | 'mark'
> {
  return {
    encryptionKeys: randomBytes(32).toString('base64'),
    operatorToken: randomBytes(24).toString('hex'),
    localToken: randomBytes(24).toString('hex'),
    mark: randomBytes(8).toString('hex'),
  };
}

export async function apiPorts(count: number): Promise<ApiPorts[]> {
  return Promise.all(
    Array.from({ length: count }, async () => ({ port: await pickPort(), internalPort: await pickPort() })),
  );
}

function common(settings: GatewaySettings): Environment {
  return {
    ...baseEnvironment(),
    [MARK_VARIABLE]: settings.mark,
    GWK_EXIT_WITH_PARENT: 'on',
    GWK_FAILPOINT_DIR: settings.failpointFolder,
  };
}

function stores(settings: GatewaySettings): Environment {
  return {
    DATABASE_URL: settings.databaseUrl,
    REDIS_URL: settings.redisUrl,
    GWK_REDIS_PREFIX: settings.redisPrefix,
    GWK_ENCRYPTION_KEYS: settings.encryptionKeys,
    GWK_MEDIA_FOLDER: settings.mediaFolder,
    GWK_MEDIA_URL: settings.mediaUrl,
  };
}

export function commandEnvironment(settings: GatewaySettings): Environment {
  return {
    ...baseEnvironment(),
    [MARK_VARIABLE]: settings.mark,
    DATABASE_URL: settings.databaseUrl,
    GWK_ENCRYPTION_KEYS: settings.encryptionKeys,
  };
}

export function apiEnvironment(settings: GatewaySettings, ports: ApiPorts): Environment {
  return {
    ...common(settings),
    ...stores(settings),
    GWK_OPERATOR_TOKEN: settings.operatorToken,
    GWK_API_HOST: HOST,
    GWK_API_PORT: String(ports.port),
    GWK_API_METRICS_PORT: '0',
    GWK_API_INTERNAL_HOST: HOST,
    GWK_API_INTERNAL_PORT: String(ports.internalPort),
    GWK_API_BASE_URL: `http://${HOST}:${ports.port}`,
    GWK_API_OPERATOR_URL: `http://${HOST}:${settings.operatorPort}`,
    GWK_API_CLUSTER_TOKEN: settings.localToken,
    GWK_API_LOOPBACK_WEBHOOKS: 'on',
    GWK_API_STOP_UNREADY_MS: '0',
    GWK_API_STOP_IDLE_MS: '0',
  };
}

export function workerEnvironment(settings: GatewaySettings, port: number): Environment {
  return {
    ...common(settings),
    ...stores(settings),
    GWK_WORKER_HOST: HOST,
    GWK_WORKER_PORT: String(port),
    GWK_WORKER_LOOPBACK_WEBHOOKS: 'on',
    GWK_WORKER_LOOPBACK_MEDIA: 'on',
    GWK_WORKER_CLIENT_VERSION: 'bundled',
  };
}

export function operatorEnvironment(settings: GatewaySettings, internalPort: number): Environment {
  return {
    ...common(settings),
    GWK_OPERATOR_TOKEN: settings.operatorToken,
    GWK_OPERATOR_INTERNAL_URL: `http://${HOST}:${internalPort}`,
    GWK_OPERATOR_HOST: HOST,
    GWK_OPERATOR_PORT: String(settings.operatorPort),
    GWK_OPERATOR_LOCAL_FOLDER: settings.localFolder,
    GWK_OPERATOR_LOCAL_TOKEN: settings.localToken,
    GWK_OPERATOR_SANDBOX_NETWORK: settings.networkUrl,
  };
}

export interface EngineLaunch {
  token: string;
  pod: string;
  port: number;
  internalUrl: string;
}

export function engineEnvironment(settings: GatewaySettings, engine: EngineLaunch): Environment {
  return {
    ...common(settings),
    GWK_ENGINE_INTERNAL_URL: engine.internalUrl,
    GWK_ENGINE_TOKEN: engine.token,
    GWK_ENGINE_POD: engine.pod,
    GWK_ENGINE_HOST: HOST,
    GWK_ENGINE_PORT: String(engine.port),
    GWK_ENGINE_SANDBOX_NETWORK: settings.networkUrl,
  };
}
